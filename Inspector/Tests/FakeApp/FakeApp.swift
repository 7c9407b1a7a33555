import Foundation
import InspectorClient
import Synchronization

/// A program with scripted events that listens as `Inspection.serve(at:)` does.
public final class FakeApp: Sendable {
  /// The path of the socket on which the app listens.
  public let path: String
  let control: Bool
  private let listener: Int32
  private let state: Mutex<State>
  private let threads = DispatchGroup()

  private struct State {
    var world: World
    var clients: [FakeClient] = []
    var requests: [String] = []
    var ended = false
  }

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - path: The path of the socket. An existing file is removed.
  ///   - control: Whether the app allows locking.
  ///   - world: The state of the app.
  public init(path: String, control: Bool = false, world: World) throws {
    (self.path, self.control) = (path, control)
    state = Mutex(State(world: world))
    unlink(path)
    #if canImport(Glibc)
      listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      listener = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let descriptor = listener
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(descriptor, 8) == 0
      }
    }
    guard bound else { throw LinkError("no socket at \(path): \(String(cString: strerror(errno)))") }
    chmod(path, 0o600)
    begin { self.accept() }
    begin { self.tick() }
  }

  private func begin(_ body: @escaping @Sendable () -> Void) {
    threads.enter()
    Thread.detachNewThread {
      body()
      self.threads.leave()
    }
  }

  /// Changes the state of the app, and returns what `body` returns.
  @discardableResult
  public func change<Result: Sendable>(_ body: (inout World) -> Result) -> Result { state.withLock { body(&$0.world) } }

  /// The requests that clients have sent, the oldest first.
  public var requests: [String] { state.withLock { $0.requests } }

  /// The number of clients that are connected.
  public var clientCount: Int { state.withLock { $0.clients.count } }

  func received(_ request: String) { state.withLock { $0.requests.append(request) } }

  /// Ends as a program that is killed does: without a message to its clients. The first call
  /// returns when all threads of the app have ended. Later calls do nothing.
  public func end() {
    let clients: [FakeClient]? = state.withLock { state in
      if state.ended { return nil }
      state.ended = true
      return state.clients
    }
    // Only the first call closes `listener`. Afterwards the system may give this file descriptor to
    // another socket, which a second close would end.
    guard let clients else { return }
    shutdown(listener, Int32(SHUT_RDWR))
    for client in clients { client.socket.end() }
    unlink(path)
    threads.wait()
    close(listener)
  }

  /// Ends all connections, and keeps listening.
  public func hangUp() { for client in state.withLock({ $0.clients }) { client.socket.end() } }

  private var hasEnded: Bool { state.withLock { $0.ended } }

  private func accept() {
    while true {
      let descriptor = Foundation.accept(listener, nil, nil)
      if hasEnded || descriptor < 0 {
        if descriptor >= 0 { close(descriptor) }
        return
      }
      let client = FakeClient(LineSocket(connected: descriptor), self)
      let isLate = state.withLock { state in
        if !state.ended { state.clients.append(client) }
        return state.ended
      }
      if isLate { return }
      begin {
        client.run()
        self.state.withLock { state in state.clients.removeAll { $0 === client } }
      }
    }
  }

  private func tick() {
    var last = ContinuousClock.now
    while !hasEnded {
      Thread.sleep(forTimeInterval: 0.05)
      let now = ContinuousClock.now
      let passed = (now - last).components
      last = now
      let (world, clients) = state.withLock { state in
        state.world.advance(by: Int(passed.seconds) * 1_000_000_000 + Int(passed.attoseconds / 1_000_000_000))
        return (state.world, state.clients)
      }
      for client in clients { client.tick(world) }
    }
  }
}
