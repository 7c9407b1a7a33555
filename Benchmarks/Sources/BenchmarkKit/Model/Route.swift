/// A way to one handler that runs somewhere else: on a queue, in a task, on the main actor.
package struct Route: Sendable {
  package let label: String
  /// The handler may run at the same time as itself, and so out of order.
  package let isConcurrent: Bool
  /// False if a send waits for the handler, or if an item costs so much more the more there are that a long backlog takes minutes.
  package let standsBacklog: Bool
  /// False if callgrind, which runs one thread at a time, brings it to a standstill.
  package let runsUnderCallgrind: Bool
  package let make: @Sendable (_ handler: @escaping @Sendable (Int) -> Void) async -> Live

  /// A route with its handler added.
  package struct Live: Sendable {
    package let send: BulkOperation
    package let close: @Sendable () async -> Void

    package init(send: BulkOperation, close: @escaping @Sendable () async -> Void = {}) {
      self.send = send
      self.close = close
    }
  }

  package init(
    _ label: String, isConcurrent: Bool = false, standsBacklog: Bool = true, runsUnderCallgrind: Bool = true,
    make: @escaping @Sendable (_ handler: @escaping @Sendable (Int) -> Void) async -> Live
  ) {
    self.label = label
    self.isConcurrent = isConcurrent
    self.standsBacklog = standsBacklog
    self.runsUnderCallgrind = runsUnderCallgrind
    self.make = make
  }
}
