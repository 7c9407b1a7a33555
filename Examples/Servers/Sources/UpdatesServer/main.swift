// Serves updates until Control-C or SIGTERM:  updates-server [PORT]
//
// To try it, run in two other terminals:
//   curl --no-buffer localhost:8080/updates
//   curl --data 'hello' localhost:8080/updates
import Foundation
import Hummingbird
import Updates

let port = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 8_080
let service = UpdateService()
let application = service.application(port: port) { port in
  print("updates are served at port \(port)")
  fflush(nil)  // so that the line appears at once even in a file
}
try await application.runService()
print("updates have ended")
