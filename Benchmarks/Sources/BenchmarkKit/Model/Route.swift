/// One way in which a peer delivers payloads to a handler that does not run inline. The handler
/// runs, for example, on a queue, in a task or on the main actor.
package struct Route: Sendable {
  package let label: String
  /// Whether the handler may run concurrently with itself, and so out of order.
  package let isConcurrent: Bool
  /// Whether the route takes part in the workload `backlog`.
  ///
  /// False if a send waits for the handler, because then no backlog arises. False also if the cost
  /// of an item grows with the backlog, because a long backlog then takes minutes.
  package let standsBacklog: Bool
  /// Whether this way to deliver makes progress under callgrind. Callgrind, which counts
  /// instructions, runs one thread at a time.
  package let runsUnderCallgrind: Bool
  /// Creates the route and adds its handler.
  package let make: @Sendable (_ handler: @escaping @Sendable (Int) -> Void) async -> Live

  /// A route after its handler was added. `send` sends payloads to the handler. `close` ends the
  /// use of the library's event, for example by removing the handler.
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
