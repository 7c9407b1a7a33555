#if NATS
  import Eventing
  import Foundation

  /// A TCP proxy in front of a server, which can be cut for ever, and which can hold back what the
  /// server sends.
  final class Proxy: Sendable {
    private struct State: Sendable {
      var isCut = false
      var sockets: [LoopbackSocket] = []
      /// The text of ``hold(until:)``: until the clients have sent it, the bytes of the server are
      /// held back. It is `nil` if nothing is held back.
      var releasing: String?
      var held: [(target: LoopbackSocket, bytes: ArraySlice<UInt8>)] = []
      /// The bytes that the clients have sent since ``hold(until:)`` was called.
      var sent: [UInt8] = []
    }

    private let listener: LoopbackSocket
    private let state = Guarded(State())
    var address: String { "nats://127.0.0.1:\(listener.port)" }

    /// - Parameter port: The port of the server.
    init(to port: Int) throws {
      listener = try LoopbackSocket()
      listen(listener.descriptor, 16)
      Foundation.Thread.detachNewThread { [listener, state] in
        while let client = listener.accepted() {
          guard let server = try? LoopbackSocket(to: port) else { continue }
          let isOpen = state.withLock { state in
            if !state.isCut { state.sockets += [client, server] }
            return !state.isCut
          }
          guard isOpen else { continue }
          for (source, target) in [(client, server), (server, client)] {
            Foundation.Thread.detachNewThread {
              while true {
                let bytes = source.receive()
                guard !bytes.isEmpty else { break }
                if source === server, state.withLock({ Proxy.isHeld(bytes, target, &$0) }) { continue }
                guard target.send(bytes) else { break }
                if source === client { state.withLock { Proxy.note(bytes, &$0) } }
              }
              for socket in [source, target] { socket.end() }
            }
          }
        }
      }
    }

    deinit { cut() }

    /// Holds back what the server sends, until the clients have sent `text`.
    func hold(until text: String) {
      state.withLock { state in
        state.releasing = text
        state.sent = []
      }
    }

    /// The text that the clients have sent since ``hold(until:)`` was called.
    var sent: String { state.withLock { String(decoding: $0.sent, as: UTF8.self) } }

    /// The text of the server that is held back.
    var held: String { state.withLock { String(decoding: $0.held.flatMap(\.bytes), as: UTF8.self) } }

    private static func isHeld(_ bytes: ArraySlice<UInt8>, _ target: LoopbackSocket, _ state: inout State) -> Bool {
      guard state.releasing != nil else { return false }
      state.held.append((target, bytes))
      return true
    }

    /// Records what a client has sent. If the clients have now sent the text of ``hold(until:)``,
    /// sends on to them what was held back, and holds back nothing more.
    private static func note(_ bytes: ArraySlice<UInt8>, _ state: inout State) {
      guard let text = state.releasing else { return }
      state.sent += bytes
      guard String(decoding: state.sent, as: UTF8.self).contains(text) else { return }
      for (target, bytes) in state.held { target.send(bytes) }  // later bytes of the server wait: the lock is held
      (state.releasing, state.held) = (nil, [])
    }

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
