import Foundation
import Synchronization

/// Receives what an app sends. The link calls all methods on one thread, in order.
public protocol AppLinkDelegate: Sendable {
  /// Called when the link has connected. The state that an earlier connection sent is no longer
  /// valid.
  func connected(_ session: AppSession)
  /// Called when the app has sent one line of an update.
  func updated(_ update: [String: JSONSlice], _ line: JSONSlice)
  /// Called when the app has sent records of a trace.
  func traced(_ records: JSONSlice, of trace: Int)
  /// Called when a connection has ended, or cannot be made, with the reason as a sentence. While
  /// further attempts fail for an equal reason, the link does not call this method again.
  func disconnected(_ reason: String)
}

extension AppLinkDelegate {
  public func traced(_ records: JSONSlice, of trace: Int) {}
}

/// A connection to an app. When it ends or cannot be made, the link tries again after 200 ms.
public final class AppLink: Sendable {
  private let connect: @Sendable () throws(LinkError) -> LineSocket
  private let control: Bool
  private let subscription: [(name: String, json: String)]?
  private let delegate: any AppLinkDelegate
  private let state = Mutex(State())
  private let wake = DispatchSemaphore(value: 0)

  private struct State {
    var session: AppSession?
    var ended = false
  }

  /// Makes a link, which does nothing before `start`.
  ///
  /// - Parameters:
  ///   - path: The path of the app's socket. `%p` stands for any number. If several sockets fit,
  ///     the link takes the newest.
  ///   - control: Whether locking and unlocking are wanted.
  ///   - interval: The milliseconds between two updates; `nil` for no updates.
  ///   - parts: The parts of an update.
  ///   - delegate: Told of connections, updates and traces.
  public convenience init(
    path: String, control: Bool = false, interval: Int? = 250,
    parts: [String] = ["events", "handlers", "graph", "waits", "warnings", "tables"], delegate: any AppLinkDelegate
  ) {
    self.init(
      control: control, interval: interval, parts: parts, delegate: delegate,
      connect: { () throws(LinkError) in try LineSocket(path: Self.newest(path)) })
  }

  /// Makes a link to an app that is not found by a path, such as a ``ReplayedApp``.
  ///
  /// - Parameters:
  ///   - control: Whether locking and unlocking are wanted.
  ///   - interval: The milliseconds between two updates; `nil` for no updates.
  ///   - parts: The parts of an update.
  ///   - delegate: Told of connections, updates and traces.
  ///   - connect: A closure that connects to the app.
  public init(
    control: Bool = false, interval: Int? = 250,
    parts: [String] = ["events", "handlers", "graph", "waits", "warnings", "tables"], delegate: any AppLinkDelegate,
    connect: @escaping @Sendable () throws(LinkError) -> LineSocket
  ) {
    (self.connect, self.control, self.delegate) = (connect, control, delegate)
    subscription = interval.map {
      [("interval", "\($0)"), ("parts", "[\(parts.map(\.asJSON).joined(separator: ","))]")]
    }
  }

  /// The connection, if there is one.
  public var session: AppSession? { state.withLock { $0.session } }

  /// Starts the thread that connects and reads.
  public func start() {
    Thread.detachNewThread {
      var last: String?
      while !self.state.withLock({ $0.ended }) {
        let reason = self.once { last = nil }
        if last != reason { self.delegate.disconnected(reason) }
        last = reason
        _ = self.wake.wait(timeout: .now() + .milliseconds(200))
      }
    }
  }

  /// Ends the connection and the thread. Callable from any thread.
  public func end() {
    let session = state.withLock { state in
      state.ended = true
      return state.session
    }
    session?.end()
    wake.signal()
  }

  /// Connects, and reads until the connection ends. Returns the reason of the end as a sentence.
  private func once(_ connected: () -> Void) -> String {
    var buffer = LineBuffer()
    let session: AppSession
    do { session = try AppSession(connect(), control: control, buffer: &buffer) } catch {
      return "\(error)"
    }
    let ended = state.withLock { state in
      state.session = session
      return state.ended
    }
    if ended { return "the inspector ends" }
    connected()
    delegate.connected(session)
    if let subscription {
      Task {
        do { _ = try await session.request("subscribe", subscription) } catch { session.end() }
      }
    }
    let reason = session.run(&buffer) { name, members, line in
      switch name {
      case "update": delegate.updated(members, line)
      case "trace":
        if let trace = members["trace"]?.int, let records = members["records"] {
          delegate.traced(records, of: trace)
        }
      default: break
      }
    }
    state.withLock { $0.session = nil }
    return reason
  }

  /// Returns the newest file that a path with `%p` stands for; without `%p` the path itself.
  static func newest(_ path: String) -> String {
    guard let place = path.range(of: "%p") else { return path }
    let (before, after) = (path[..<place.lowerBound], path[place.upperBound...])
    let folder = before.lastIndex(of: "/").map { String(before[...$0]) } ?? "./"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let paths = names.map { before.contains("/") ? folder + $0 : $0 }.filter { candidate in
      guard candidate.hasPrefix(before), candidate.hasSuffix(after) else { return false }
      let number = candidate.dropFirst(before.count).dropLast(after.count)
      return !number.isEmpty && number.allSatisfy(\.isNumber)
    }
    func time(_ path: String) -> Date {
      (try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date) ?? .distantPast
    }
    return paths.max { time($0) < time($1) } ?? path
  }
}
