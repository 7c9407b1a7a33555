/// A closure with which an adapter performs one operation of its library many times: once for each
/// payload of a ``Batch``. A `sync` closure runs on a thread, an `async` closure in a task.
package enum BulkOperation: Sendable {
  case sync(@Sendable (Batch) -> Void)
  case async(@Sendable (Batch) async -> Void)

  /// Runs the batch in the calling task.
  func run(_ batch: Batch) async {
    switch self {
    case .sync(let body): body(batch)
    case .async(let body): await body(batch)
    }
  }

  /// Runs the batch; a `sync` operation runs on a thread of its own, because it may block.
  func runOnOwnThread(_ batch: Batch) async {
    switch self {
    case .sync(let body): await onOwnThread { body(batch) }
    case .async(let body): await body(batch)
    }
  }
}
