public import Dispatch

/// The place behind the three delivery types.
///
/// A priority is stored as its raw value, because clients do not know the layout of `TaskPriority`:
/// see ``StableInstant``.
@usableFromInline enum ExecutionPlace: Sendable {
  case inline
  case main(Buffering)
  case background(UInt8, Buffering)
  case queue(DispatchQueue, Buffering)
  case inOrder(UInt8?, Buffering)
  case concurrent(Int, Buffering)
  case task(UInt8?)
  /// The tasks that iterate over a sequence.
  case sequence(Buffering)
  /// The actor that is the handler's owner.
  case actor

  var buffering: Buffering {
    switch self {
    case .main(let buffering), .background(_, let buffering), .queue(_, let buffering), .inOrder(_, let buffering),
      .concurrent(_, let buffering), .sequence(let buffering):
      buffering
    case .inline, .task, .actor: .unbounded
    }
  }
}

extension ExecutionPlace: CustomStringConvertible {
  @usableFromInline var description: String { buffering.isBounded ? "\(name), \(buffering)" : name }

  private var name: String {
    switch self {
    case .inline: "inline"
    case .main: "main"
    case .background(let priority, _): "background(\(priorityName(priority)))"
    case .queue(let queue, _): "queue(\(queue.label))"
    case .inOrder(let priority, _): priority.map { "in order(\(priorityName($0)))" } ?? "in order"
    case .concurrent(let limit, _): "concurrent(limit: \(limit))"
    case .task(let priority): priority.map { "task(\(priorityName($0)))" } ?? "task"
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
