/// How an adapter works a batch off: `sync` ones are called on threads, `async` ones on tasks.
package enum BulkOperation: Sendable {
  case sync(@Sendable (Batch) -> Void)
  case async(@Sendable (Batch) async -> Void)

  func run(_ batch: Batch) async {
    switch self {
    case .sync(let body): body(batch)
    case .async(let body): await body(batch)
    }
  }

  /// As `run`, but a `sync` operation gets a thread of its own: it may block.
  func runOnOwnThread(_ batch: Batch) async {
    switch self {
    case .sync(let body): await onOwnThread { body(batch) }
    case .async(let body): await body(batch)
    }
  }
}
