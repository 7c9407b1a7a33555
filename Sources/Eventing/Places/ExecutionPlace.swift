public import Dispatch

/// Where and how a handler runs. A priority is stored as its raw value, because other modules don't
/// know the layout of `TaskPriority` and would handle it more slowly: see ``StableInstant``.
@usableFromInline package enum ExecutionPlace: Sendable {
  case inline
  case main(Buffering)
  case background(UInt8, Buffering)
  case queue(DispatchQueue, Buffering)
  case inOrder(UInt8?, Buffering)
  case concurrent(Int, Buffering)
  case task(UInt8?)
  case lane(HandlerLane, Buffering)
  case sequence(Buffering)
  case actor(Buffering)

  package var buffering: Buffering {
    switch self {
    case .main(let buffering), .background(_, let buffering), .queue(_, let buffering), .inOrder(_, let buffering),
      .concurrent(_, let buffering), .sequence(let buffering), .lane(_, let buffering), .actor(let buffering):
      buffering
    case .inline, .task: .unbounded
    }
  }
}

extension ExecutionPlace {
  func buffered(_ buffering: Buffering) -> ExecutionPlace {
    switch self {
    case .main: .main(buffering)
    case .background(let priority, _): .background(priority, buffering)
    case .queue(let queue, _): .queue(queue, buffering)
    case .inOrder(let priority, _): .inOrder(priority, buffering)
    case .concurrent(let limit, _): .concurrent(limit, buffering)
    case .lane(let lane, _): .lane(lane, buffering)
    case .actor: .actor(buffering)
    case .inline, .task, .sequence: self
    }
  }

  /// For a bus handler, one call at a time means one across all events, so they share a queue or a
  /// lane.
  var inSeveralEvents: ExecutionPlace {
    switch self {
    case .background(let priority, let buffering): .queue(Scheduling.backgroundQueue(priority), buffering)
    case .inOrder(let priority, let buffering): .lane(HandlerLane(.tasks(priority), isShared: true), buffering)
    default: self
    }
  }
}

extension ExecutionPlace: CustomStringConvertible {
  @usableFromInline package var description: String { buffering.isBounded ? "\(name), \(buffering)" : name }

  private var name: String {
    switch self {
    case .inline: "inline"
    case .main: "main"
    case .background(let priority, _): "background(\(priorityName(priority)))"
    case .queue(let queue, _): "queue(\(queue.label))"
    case .inOrder(let priority, _): priority.map { "in order(\(priorityName($0)))" } ?? "in order"
    case .concurrent(let limit, _): "concurrent(limit: \(limit))"
    case .task(let priority): priority.map { "task(\(priorityName($0)))" } ?? "task"
    case .lane(let lane, _): lane.description
    case .sequence: "sequence"
    case .actor: "actor"
    }
  }
}

private func priorityName(_ rawPriority: UInt8) -> String {
  switch TaskPriority(rawValue: rawPriority) {
  case .high: "high"
  case .medium: "medium"
  case .utility: "utility"
  case .background: "background"
  default: "priority \(rawPriority)"
  }
}
