public import Dispatch

/// The place behind the three delivery types.
///
/// A priority is its raw value: the layout of `TaskPriority` is not known to clients (see ``Moment``).
@usableFromInline enum Place: Sendable {
  case inline
  case main
  case background(UInt8)
  case queue(DispatchQueue)
  case inOrder(UInt8?)
  case concurrent(Int)
  case task(UInt8?)
  /// On the actor that is the handler's owner.
  case actor
}

extension Place: CustomStringConvertible {
  @usableFromInline var description: String {
    switch self {
    case .inline: "inline"
    case .main: "main"
    case .background(let priority): "background(\(priorityName(priority)))"
    case .queue(let queue): "queue(\(queue.label))"
    case .inOrder(let priority): priority.map { "in order(\(priorityName($0)))" } ?? "in order"
    case .concurrent(let limit): "concurrent(limit: \(limit))"
    case .task(let priority): priority.map { "task(\(priorityName($0)))" } ?? "task"
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
