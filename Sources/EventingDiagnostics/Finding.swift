public import Eventing

extension EventDiagnostics {
  /// One finding: a handler that is slow or stuck, a lane that grows, or an event with many
  /// handlers.
  ///
  /// The type is a struct, not an enum, so that later versions can find more without breaking a
  /// `switch`.
  public struct Finding: Sendable {
    /// The kind of a finding. Later versions may add more.
    public struct Kind: Hashable, Sendable {
      let name: String

      /// A call took longer than the limit: see ``Finding/handler`` and ``Finding/duration``.
      public static var slowHandler: Kind { Kind(name: "slowHandler") }
      /// A call has not ended within the limit, and still runs: see ``Finding/handler``,
      /// ``Finding/duration``, ``Finding/waitingCount`` and ``Finding/waits``. Reported once for
      /// each call.
      public static var stuckHandler: Kind { Kind(name: "stuckHandler") }
      /// Calls wait on a handler's lane, none of them has begun within the limit, and no other call
      /// of the handler runs. Something else blocks the queue, the actor or the threads that the
      /// handler needs: for instance, the program's own work on the queue, or more blocked
      /// `.background` handlers than Dispatch has threads. See ``Finding/handler``,
      /// ``Finding/duration``, ``Finding/waitingCount`` and ``Finding/waits``. Reported once, until
      /// the lane makes progress. A lane that is locked, and a shared `HandlerLane`, are not
      /// reported.
      public static var blockedLane: Kind { Kind(name: "blockedLane") }
      /// More than 1,024 occurrences wait on a handler's lane, or in the buffer of a sequence, and
      /// more than at the last look: see ``Finding/handler`` and ``Finding/waitingCount``. Reported
      /// again each time that the number has doubled.
      public static var growingLane: Kind { Kind(name: "growingLane") }
      /// An event has more handlers than the limit: see ``Finding/handlerCount`` and
      /// ``Finding/handlerNames``. Reported again each time that the number has doubled.
      public static var manyHandlers: Kind { Kind(name: "manyHandlers") }
    }

    enum Limit: Sendable {
      case duration(Duration)
      case count(Int)
    }

    /// A `send` or a `quiesce` that waits, or a ticket whose report is awaited.
    public struct Wait: Sendable {
      /// The event that the occurrence was sent through; `nil` if the event is not observed. Also
      /// `nil` for a `quiesce` that waits for a call on a lane, because a `quiesce` sends no
      /// occurrence.
      public let event: EventIdentity?
      /// The sequence number of the occurrence; `nil` if it has not been delivered, if the event is
      /// not observed, or for a `quiesce`.
      public let sequence: UInt64?
      /// The time since the wait began.
      public let duration: Duration

      init(_ wait: WaitingSends.Look.Wait) {
        (event, sequence, duration) = (wait.event, wait.sequence, wait.duration)
      }
    }

    /// The kind of the finding.
    public let kind: Kind
    /// The name of the event; `nil` if it has none.
    public var event: String? { eventIdentity.name }
    /// The name, the number and the payload type of the event.
    public let eventIdentity: EventIdentity
    /// The handler that is slow or stuck, or whose lane is blocked or grows; `nil` for a finding
    /// about an event.
    public let handler: HandlerToken?
    /// The duration of a slow call, of a stuck call so far, or of the time for which a blocked lane
    /// has begun no call; `nil` for any other finding.
    public let duration: Duration?
    /// The number of occurrences that wait on the lane of the handler: see
    /// `HandlerSnapshot.waitingCount`. 0 for a finding about an event.
    public let waitingCount: Int
    /// The name of the shared `HandlerLane` of the handler; `nil` if the handler shares no lane, or
    /// the lane has no name.
    public let laneName: String?
    /// The number of occurrences that wait on the shared `HandlerLane` of the handler, for any
    /// handler of that lane; `nil` if the handler shares no lane.
    public let laneWaitingCount: Int?
    /// The waits that cannot end before a stuck call has returned, or before a blocked lane begins
    /// a call, the longest first. There are at most 100. Waits for the handler itself come before
    /// waits that depend on it through others.
    public let waits: [Wait]
    /// The number of handlers of the event; `nil` for a finding about a handler.
    public let handlerCount: Int?
    /// The number of handlers of each name, the largest number first. Handlers without a name count
    /// under `nil`. Empty for a finding about a handler.
    public let handlerNames: [(name: String?, count: Int)]
    let limit: Limit

    init(
      _ kind: Kind, _ event: EventIdentity, handler: HandlerToken? = nil, duration: Duration? = nil,
      waitingCount: Int = 0, on lane: HandlerLane? = nil, waits: [WaitingSends.Look.Wait] = [],
      handlerCount: Int? = nil,
      limit: Limit,
      names: [(name: String?, count: Int)] = []
    ) {
      self.kind = kind
      eventIdentity = event
      self.handler = handler
      self.duration = duration
      self.waitingCount = waitingCount
      laneName = lane?.name
      laneWaitingCount = lane?.waitingCount
      self.waits = waits.map { Wait($0) }
      self.handlerCount = handlerCount
      self.limit = limit
      handlerNames = names
    }
  }
}

extension EventDiagnostics.Finding.Kind: CustomStringConvertible {
  /// The name of the kind.
  public var description: String { name }
}

extension EventDiagnostics.Finding.Limit: CustomStringConvertible {
  var description: String {
    switch self {
    case .duration(let limit): "\(limit)"
    case .count(let limit): "\(limit)"
    }
  }
}

extension EventDiagnostics.Finding.Wait: CustomStringConvertible {
  /// The event, the sequence number, and the duration of the wait so far: `orders #12 for 3.0 s`.
  public var description: String {
    "\(event.map { "\($0)" } ?? "an event")\(sequence.map { " #\($0)" } ?? "") for \(duration.inSeconds)"
  }
}

extension EventDiagnostics.Finding: CustomStringConvertible {
  /// The finding in one line, for a log.
  public var description: String {
    guard let handler else {
      let names = handlerNames.map { "\($0.count) \($0.name.map { "\"\($0)\"" } ?? "without a name")" }
      return "\(event ?? "an event") has \(handlerCount ?? 0) handlers, more than \(limit): "
        + names.joined(separator: ", ")
    }
    let subject = "\(handler.name ?? handler.description) of \(event ?? "an event")"
    let location = handler.sourceText.map { ", \($0)" } ?? ""
    let time = duration ?? .zero
    let waiting = (waitingCount > 0 ? ", \(waitingCount) waiting" : "") + laneText
    switch kind {
    case .stuckHandler:
      return "\(subject) has been running for \(time.inSeconds), more than \(limit)\(location)\(waiting)\(waitText)"
    case .blockedLane:
      return "\(subject) has begun no call for \(time.inSeconds), more than \(limit)\(location)\(waiting)\(waitText)"
    case .growingLane:
      return "\(subject) has \(waitingCount) waiting occurrences, more than \(limit)\(location)\(laneText)"
    default: return "\(subject) took \(time), more than \(limit)\(location)"
    }
  }

  private var laneText: String {
    laneWaitingCount.map { ", \($0) waiting on the lane\(laneName.map { " \"\($0)\"" } ?? "")" } ?? ""
  }

  private var waitText: String {
    guard !waits.isEmpty else { return "" }
    let least = waits.count < WaitingSends.Look.most ? "" : "at least "
    let rest = waits.count > 3 ? ", and \(least)\(waits.count - 3) more" : ""
    return "; waiting for it: " + waits.prefix(3).map(\.description).joined(separator: ", ") + rest
  }
}
