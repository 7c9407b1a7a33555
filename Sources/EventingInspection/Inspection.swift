public import Eventing
import Foundation
import Synchronization

/// Lets an inspector look at the events of this process, over a Unix socket that only the user of
/// the process can open.
///
///     let inspection = try Inspection.serve(at: "/tmp/app-%p.sock")
///
/// Or without a line of code: a program that links this module serves at the path that the
/// environment variable `EVENTING_INSPECT` names.
///
/// Every event that is made from now on is seen. An event that was made before is seen when a
/// handler is added to it, or when it is given to ``include(_:)``. Payloads leave the process only
/// as texts that ``describe(_:as:)`` makes of them, in the traces that clients start.
///
/// Each new event and handler joins a table, and a `send` that suspends joins the graph of waits.
/// So a client also sees waits that began before it came. While clients are connected, a thread of
/// the inspection reads the counters, which slows no post.
///
/// In a release build, an inline handler without options, or with `.once` alone, has no file and
/// line: its record has no room for them. Give such a handler a name to recognize it.
///
/// Releasing an inspection does not end it: ``end()``, or the end of the process, closes the socket
/// and removes its file.
public final class Inspection: Sendable {
  /// The path of the socket, with the number of the process instead of `%p`.
  public let path: String
  /// Whether clients may lock and unlock handlers and events.
  public let allowsControl: Bool

  private let file: SocketFile
  private let process = getpid()
  let server: Server
  private let isOver = Atomic<Bool>(false)

  private static let all = Guarded<[Inspection]>([])

  private init(at path: String, control allowsControl: Bool, _ limits: ClientLimits) throws(InspectionError) {
    file = try SocketFile(path)
    self.path = file.path
    self.allowsControl = allowsControl
    do {
      server = try Server(file, allowsControl: allowsControl, limits)
    } catch {
      file.discard()
      throw error
    }
  }

  deinit { end() }

  /// Opens a socket. A process may have several inspections, each with its own socket.
  ///
  /// - Parameters:
  ///   - path: The path, at most 107 bytes on Linux and 103 on Apple's systems. `%p` stands for the
  ///     number of the process. The folder must be sticky, or the user's own and writable for no
  ///     other user. It must be no link, except a link that belongs to root on Apple's systems,
  ///     such as `/tmp`. A file at the path is replaced only if it is the user's own socket and no
  ///     program listens there.
  ///   - allowsControl: Whether clients may lock and unlock, and perform actions on rows of tables,
  ///     such as sending dead letters again.
  /// - Returns: The inspection.
  /// - Throws: An ``InspectionError``, before any client could connect.
  @discardableResult public static func serve(
    at path: String, control allowsControl: Bool = false
  ) throws(InspectionError) -> Inspection {
    try serve(at: path, control: allowsControl, ClientLimits())
  }

  static func serve(
    at path: String, control allowsControl: Bool, _ limits: ClientLimits
  ) throws(InspectionError) -> Inspection {
    let inspection = try Inspection(at: path, control: allowsControl, limits)
    EventRegistry.start()
    let isFirst = all.withLock { all in
      all.append(inspection)
      return all.count == 1
    }
    if isFirst { _ = removal }
    inspection.server.start()
    return inspection
  }

  /// The inspections that serve now, also the one that the environment variable started.
  public static var serving: [Inspection] { all.withLock { $0.map { $0 } } }

  /// Removes the socket files when the process ends.
  private static let removal: Void = {
    atexit {
      // A forked child inherits the closure, and must not remove the files of its parent.
      for inspection in Inspection.serving where inspection.process == getpid() { inspection.file.remove() }
    }
  }()

  /// Shows events that were made before the inspection began. For a bus, shows the events that the
  /// bus has made and will make.
  ///
  /// Callable from any thread and inside any handler. The events are not kept alive.
  ///
  /// - Parameter events: Events, keyed events, observed values, questions or buses.
  /// - Complexity: O(events).
  public func include(_ events: any HandlerRegistry...) {
    for each in events { EventRegistry.include(each) }
  }

  /// Closes the socket and all connections, and removes the file. A second call does nothing.
  ///
  /// The file is gone on return; clients learn of it soon after. Callable from any thread and inside
  /// any handler.
  public func end() {
    if isOver.exchange(true, ordering: .acquiringAndReleasing) { return }
    file.remove()
    server.stop()
    let gone = Inspection.all.withLock { all in
      defer { all.removeAll { $0 === self } }
      return all.contains { $0 === self }
    }
    if gone { EventRegistry.stop() }
  }

  /// The counts of clients, of malformed requests and of missed updates. Callable from any thread.
  public var counts: Counts {
    Counts(
      clients: server.clientCount.load(ordering: .relaxed), refused: server.refusedCount.load(ordering: .relaxed),
      malformed: server.malformedCount.load(ordering: .relaxed), missed: server.missedCount.load(ordering: .relaxed))
  }

  /// The counts of clients, of malformed requests and of missed updates.
  public struct Counts: Sendable {
    /// The number of clients that are connected now.
    public let clients: Int
    /// The number of clients that were turned away, or whose connection ended before they had sent
    /// a hello. A client is turned away if too many are connected, or if it belongs to a user who
    /// is neither the user of the process nor root.
    public let refused: Int
    /// The number of lines that were no request: no JSON, too long, or of an unknown kind.
    public let malformed: Int
    /// The number of updates that slow readers missed.
    public let missed: Int
  }
}

extension Inspection: CustomStringConvertible {
  /// The path.
  public var description: String { "inspection at \(path)" }
}
