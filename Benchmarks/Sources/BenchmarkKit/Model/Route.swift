/// A way to one handler that runs somewhere else: on a queue, in a task, on the main actor.
public struct Route: Sendable {
  public let label: String
  /// The handler may run at the same time as itself, and so out of order.
  public let isConcurrent: Bool
  public let make: @Sendable (_ handler: @escaping @Sendable (Int) -> Void) async -> Live

  /// A route with its handler added.
  public struct Live: Sendable {
    public let send: BulkOperation
    public let close: @Sendable () async -> Void

    public init(send: BulkOperation, close: @escaping @Sendable () async -> Void = {}) {
      self.send = send
      self.close = close
    }
  }

  public init(
    _ label: String, isConcurrent: Bool = false, make: @escaping @Sendable (_ handler: @escaping @Sendable (Int) -> Void) async -> Live
  ) {
    self.label = label
    self.isConcurrent = isConcurrent
    self.make = make
  }
}
