import FlyingFox
import FlyingSocks
import Foundation
import InspectorClient

/// Serves the page and the stream of what the app sends, on loopback only.
public final class PageServer: Sendable {
  /// The address of the page. After its `#` stands the secret that the page sends with each request
  /// for the data of the app.
  public let url: String
  let access: Access
  let gate: Gate
  private let feed: Feed
  private let server: HTTPServer
  private let folder: String
  private let routes: PageRoutes

  /// Begins to listen at a port. Requests wait until `run`.
  ///
  /// - Parameters:
  ///   - port: The port; 0 for any that is free.
  ///   - link: The connection to the app.
  ///   - feed: The delegate of the link.
  /// - Throws: `PageError` if the port is taken, or if no temporary folder can be made.
  public init(port: UInt16, link: AppLink, feed: Feed) throws {
    var template = Array((NSTemporaryDirectory() as NSString).appendingPathComponent("inspector-XXXXXX").utf8CString)
    // The folder has the mode 0700.
    guard mkdtemp(&template) != nil else { throw PageError("no folder in \(NSTemporaryDirectory())") }
    folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    let path = folder + "/http"
    do {
      gate = try Gate(port: port, upstream: path)
      access = Access(port: gate.port)
      routes = try PageRoutes(access: access, link: link, feed: feed)
    } catch {
      rmdir(folder)
      throw error
    }
    self.feed = feed
    url = "http://127.0.0.1:\(gate.port)/#\(access.token)"
    let routes = routes
    server = HTTPServer(
      address: sockaddr_un.unix(path: path), logger: .disabled,
      handler: ClosureHTTPHandler { request in await routes.answer(request) })
  }

  /// Serves until the task is cancelled, then ends all connections.
  ///
  /// - Parameter ready: Called once when a browser can connect.
  public func run(ready: @escaping @Sendable () -> Void = {}) async throws {
    defer {
      feed.end()
      gate.end()
      unlink(folder + "/http")
      rmdir(folder)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [server] in try await server.run() }
      group.addTask { [server, gate] in
        try await server.waitUntilListening()
        gate.start()
        ready()
        try await Task.sleep(for: .seconds(1 << 30))
      }
      group.addTask { [feed] in
        while true {
          try await Task.sleep(for: .seconds(1))
          feed.beat()
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}
