extension EventDiagnostics {
  /// One finding: a handler that is slow, or an event with many handlers.
  ///
  /// The type is a struct, not an enum, so that later versions can find more without breaking a
  /// `switch`.
  public struct Finding: Sendable {
    /// The kind of a finding. Later versions may add more.
    public struct Kind: Hashable, Sendable {
      /// The name of the kind.
      let name: String

      /// A call took longer than the limit: see ``Finding/handler`` and ``Finding/duration``.
      public static var slowHandler: Kind { Kind(name: "slowHandler") }
      /// An event has more handlers than the limit: see ``Finding/handlerCount`` and
      /// ``Finding/handlerNames``. Reported again each time that the number has doubled.
      public static var manyHandlers: Kind { Kind(name: "manyHandlers") }
    }

    /// The limit that was exceeded.
    enum Limit: Sendable {
      case duration(Duration)
      case count(Int)
    }

    /// The kind of the finding.
    public let kind: Kind
    /// The name of the event; `nil` if it has none.
    public let event: String?
    /// The slow handler; `nil` for a finding about an event.
    public let handler: HandlerToken?
    /// The duration of the call; `nil` for a finding about an event.
    public let duration: Duration?
    /// The number of handlers of the event; `nil` for a finding about a handler.
    public let handlerCount: Int?
    /// The number of handlers of each name, the largest first. Handlers without a name count under
    /// `nil`. Empty for a finding about a handler.
    public let handlerNames: [(name: String?, count: Int)]
    /// The limit that was exceeded.
    let limit: Limit

    init(
      _ kind: Kind, event: String?, handler: HandlerToken? = nil, duration: Duration? = nil, handlerCount: Int? = nil,
      limit: Limit, names: [(name: String?, count: Int)] = []
    ) {
      self.kind = kind
      self.event = event
      self.handler = handler
      self.duration = duration
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

extension EventDiagnostics.Finding: CustomStringConvertible {
  /// The finding in one line, for a log.
  public var description: String {
    if let handler, let duration {
      return "\(handler.name ?? handler.description) of \(event ?? "an event") took \(duration), more than \(limit)"
    }
    let names = handlerNames.map { "\($0.count) \($0.name.map { "\"\($0)\"" } ?? "without a name")" }
    return "\(event ?? "an event") has \(handlerCount ?? 0) handlers, more than \(limit): "
      + names.joined(separator: ", ")
  }
}
