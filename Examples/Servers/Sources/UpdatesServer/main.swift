// Serves updates until Control-C or SIGTERM:  updates-server [PORT]
//
// Then, in two other terminals:
//   curl --no-buffer localhost:8080/updates
//   curl --data 'hello' localhost:8080/updates
import Foundation
import Hummingbird
import Updates

let port = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 8_080
let service = UpdateService()
let application = service.application(port: port) { port in
  print("updates are served at port \(port)")
  fflush(nil)  // at once, into a file, too
}
try await application.runService()
print("updates have ended")
