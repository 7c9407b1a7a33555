// Serves the chat until Control-C or SIGTERM:  chat-server [PORT]
//
// To try it, run in two other terminals:  nc localhost 4000   and type:  lobby ada
import Chat
import Foundation
import UnixSignals

let server = ChatServer()
let port = CommandLine.arguments.dropFirst().first.flatMap(Int.init) ?? 4_000
let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)

try await withThrowingTaskGroup(of: Void.self) { group in
  group.addTask {
    try await server.run(port: port) { port in
      print("chat listens at port \(port)")
      fflush(nil)  // so that the line appears at once even in a file
    }
  }
  group.addTask { for await _ in signals { break } }
  try await group.next()
  group.cancelAll()
}
print("chat has ended")
