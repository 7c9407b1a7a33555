#if NATS
  import Eventing
  import Foundation

  /// A TCP proxy in front of a server, which can be cut for ever.
  final class Proxy: Sendable {
    private struct State: Sendable {
      var isCut = false
      var sockets: [LoopbackSocket] = []
    }

    private let listener: LoopbackSocket
    private let state = Guarded(State())
    var address: String { "nats://127.0.0.1:\(listener.port)" }

    /// - Parameter port: The port of the server.
    init(to port: Int) throws {
      listener = try LoopbackSocket()
      listen(listener.descriptor, 16)
      Foundation.Thread.detachNewThread { [listener, state] in
        while let process = listener.accepted() {
          guard let server = try? LoopbackSocket(to: port) else { continue }
          let isOpen = state.withLock { state in
            if !state.isCut { state.sockets += [process, server] }
            return !state.isCut
          }
          guard isOpen else { continue }
          for (source, target) in [(process, server), (server, process)] {
            Foundation.Thread.detachNewThread {
              while true {
                let bytes = source.receive()
                guard !bytes.isEmpty, target.send(bytes) else { break }
              }
              for socket in [source, target] { socket.end() }
            }
          }
        }
      }
    }

    deinit { cut() }

    /// Ends all connections, and accepts no more.
    func cut() {
      listener.end()
      let sockets = state.withLock { state in
        state.isCut = true
        defer { state.sockets = [] }
        return state.sockets
      }
      for socket in sockets { socket.end() }
    }
  }
#endif
