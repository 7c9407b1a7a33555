import FakeApp
import Foundation

// The fake app as a process, for the checks of the page. Each line of the process's input names a
// script that the app runs. The process ends at the end of its input.
guard CommandLine.arguments.count == 2 else {
  print("usage: fake-app SOCKET")
  exit(64)
}
signal(SIGPIPE, SIG_IGN)
let app = try FakeApp(path: CommandLine.arguments[1], control: true, world: .shop())
print("listens at \(app.path)")
fflush(nil)
while let line = readLine() {
  app.change { world in
    switch line {
    case "stick": world.stick()
    case "free": world.free()
    case "drop": world.drop()
    case "flood": world.flood()
    case "defer": world.deferWait()
    case "hostile": world.hostile()
    case "many": world.many()
    default: print("expected a script, got \(line)")
    }
  }
  print("did \(line)")
  fflush(nil)
}
app.end()
