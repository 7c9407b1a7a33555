import Dispatch

// A forward is a handler that enters another event. Because each forward adds to the stack, a long
// chain continues on the queue of the next event after a number of steps (`DeliveryDepth`).

extension EventSource {
  /// Forwards every payload to another event.
  ///
  /// A forward is a handler: it has a place in the order and a token, and you can lock and remove
  /// it. An occurrence enters the target, or is queued there, before the next handler of this event
  /// is called. It keeps its sender (`from:`), and occurrences sent by one thread or task stay in
  /// order.
  ///
  /// - Effective on return. Callable from any thread and inside a handler.
  /// - An occurrence never re-enters an event that it came through, so a cycle ends. If two paths
  ///   lead to one event, it delivers the occurrence twice.
  /// - ``Event/send(_:from:)`` also waits for the target's handlers. Its report counts the forward
  ///   as delivered once the target has taken the occurrence, or as skipped if the occurrence came
  ///   through the target before. Errors of the target's handlers are only in the target's
  ///   ``Event/failures``.
  /// - ``HandlerRegistry/quiesce()`` covers a single event, so call it on the target next.
  /// - If the target is overloaded, a forwarded ``Event/post(_:from:)`` slows down just like a
  ///   direct one.
  ///
  /// - Parameters:
  ///   - target: The event that receives the payloads.
  ///   - strongly: Whether the forward retains the target. If not, the forward ends when the target
  ///     is released.
  /// - Returns: The token of the forward.
  /// - Complexity: O(1). Each occurrence then costs what the target's handlers cost, plus one step
  ///   for each event on its path, and one or two allocations.
  @discardableResult public nonisolated func forward(to target: Event<Payload>, strongly: Bool = false) -> HandlerToken
  {
    forward(to: target, strongly: strongly, isJoined: false)
  }

  /// - Parameter isJoined: Whether the target is the private event of a view of several sources. Its
  ///   failures are then those of the event of the first such forward.
  @discardableResult nonisolated func forward(
    to target: Event<Payload>, strongly: Bool, isJoined: Bool
  ) -> HandlerToken {
    let strongTarget = strongly ? StrongTarget(target) : nil
    let failures = isJoined ? target.core.anchor.failures() : nil
    var handler = Handler<Payload>(
      .inline,
      .relay { record, anchor in
        if let failures { _ = failures.visible.set(anchor) }  // before the first occurrence
        return TransformedHandler(target: nil) { payload, owner, delivery in
          _ = strongTarget  // retained by the closure
          guard let owner else { return false }
          // Safe: the owner of the handler is the target, and `isOwnerBound` keeps it. A checked
          // cast would look up the type's metadata for each occurrence.
          let core = unsafe unsafeDowncast(owner, to: Event<Payload>.self).core
          return core.takeOver(payload, from: record, anchor, &delivery)
        }
      })
    handler.options.owner = Owner(target)
    handler.options.isOwnerBound = true
    handler.options.isForward = true
    return add(handler)
  }

  /// Skips an occurrence that came through the far end. Holds `object` weakly and ends with it.
  package nonisolated func forwardOut<Other, FarEnd: Hashable & Sendable>(
    until object: (any AnyObject & Sendable)?, as place: String, label: String? = nil,
    _ transform: @escaping @Sendable (Payload) -> Other?,
    to farEnd: @escaping @Sendable (Other) -> FarEnd,
    _ body: @escaping @Sendable (Other, ForwardingContext) -> Void
  ) -> HandlerToken {
    var handler = Handler<Payload>(
      .inline,
      .relay { record, anchor in
        TransformedHandler(target: nil) { payload, _, delivery in
          guard let other = transform(payload.payload(Payload.self)), case let farEnd = farEnd(other),
            delivery.path?.contains(farEnd: farEnd) != true
          else {
            delivery.noteLeftOut()
            return false
          }
          guard record.claim() else { return false }
          let path = ForwardingPath(.farEnd(farEnd), after: ForwardingPath(.event(anchor), after: delivery.path))
          body(other, delivery.forwardingContext(path))
          delivery.report.delivered &+= 1
          return true
        }
      })
    handler.options.owner = object.map { Owner($0) }
    handler.options.isForward = true
    handler.options.bridge = Bridge(to: place, label: label)
    return add(handler)
  }
}

extension EventSource {
  /// Calls of `body` form a pipeline. The next call begins once this one has ended or has called
  /// `entered`, on any thread, because later results can no longer overtake it. A `send` waits for
  /// `body`.
  package nonisolated func forwardAway<Other: Sendable>(
    ownedBy owner: some AnyObject & Sendable, as place: String,
    _ transform: @escaping @Sendable (Payload, (any Sendable)?) -> Other?,
    _ body: @escaping @Sendable (Other, _ entered: @escaping @Sendable () -> Void) async throws -> Void
  ) -> HandlerToken {
    let handler = Handler<Other>(on: .concurrent(limit: Entrance.limit)) { other async throws in
      let entrance = Entrance.ofCall.get()
      try await body(other) { entrance?.letNextIn() }
    }
    var forward: Handler<Payload> = handler.converted { payload, delivery, _ in
      transform(payload, delivery.completion?.account?.origin)
    }
    forward.options.owner = Owner(owner)
    forward.options.isForward = true
    forward.options.bridge = Bridge(to: place, label: nil)
    return add(forward)
  }
}

package struct ForwardingContext: Sendable {
  fileprivate let path: ForwardingPath
  fileprivate let sender: (any AnyObject & Sendable)?
  fileprivate let waiting: Completion?
}

extension Delivery {
  fileprivate mutating func forwardingContext(_ path: ForwardingPath) -> ForwardingContext {
    ForwardingContext(path: path, sender: sender, waiting: completionIfAwaited())
  }
}

extension Event {
  package nonisolated func enter(_ payload: Payload, _ context: ForwardingContext) {
    if !context.path.contains(core.anchor) { lend(payload) { core.take($0, context) } }
  }

  package nonisolated func enter(_ payload: Payload, from farEnd: some Hashable & Sendable) {
    let path = ForwardingPath(.farEnd(farEnd), after: nil)
    enter(payload, ForwardingContext(path: path, sender: nil, waiting: nil))
  }
}

extension EventCore {
  func takeOver(
    _ payload: BorrowedPayload, from record: DetailedRecord, _ anchor: EventAnchor, _ delivery: inout Delivery
  ) -> Bool {
    let path = ForwardingPath(.event(anchor), after: delivery.path)
    guard !path.contains(self.anchor) else {
      delivery.noteLeftOut()
      return false
    }
    guard record.claim() else { return false }
    take(payload, delivery.forwardingContext(path))
    delivery.report.delivered &+= 1
    return true
  }

  fileprivate func take(_ payload: BorrowedPayload, _ context: ForwardingContext) {
    let path = context.path
    let completion = Completion(along: path, from: context.sender, waiting: context.waiting)
    if isTraced { completion.noteOrigin() }
    let own = DeliveryDepth.isTooDeep ? 0 : enter()
    if own != 0 {
      deliverQueued(payload, completion)
      leave(own)
    } else if enqueue(payload, completion), context.waiting == nil {
      OverloadControl.slowDown()
    }
  }
}

/// Releasing a chain of such forwards recurses. After 32 targets, the release continues on a queue
/// so that a chain of any length fits the stack.
@safe final class StrongTarget<Payload: Sendable>: Sendable {
  // Safe: retained in `init`, and released once, in `deinit`.
  private let target: Unmanaged<Event<Payload>>

  init(_ target: Event<Payload>) { unsafe self.target = .passRetained(target) }

  deinit {
    let depth = ReleaseDepth.current
    let target = unsafe target
    if depth < 32 {
      ReleaseDepth.$current.withValue(depth + 1) { unsafe target.release() }
    } else {
      // This stack already has 32 nested releases, so a block takes over this object's reference
      // and releases the target. If the block had its own reference, the last release could still
      // happen on this thread and recurse into the next target of the chain. The queue is private
      // because, in a shared pool, blocks of other code that wait for something could delay this
      // block, and with it the release of the next targets.
      Scheduling.block(on: DispatchQueue(label: "eventing.release")) { unsafe target.release() }
    }
  }
}

private enum ReleaseDepth {
  @TaskLocal static var current = 0
}

/// The next call of a pipeline doesn't begin while this call keeps the entrance closed. The
/// entrance opens once the payload has its place in the order of the target, or when the call ends.
final class Entrance: Sendable {
  static let ofCall = TaskLocal<Entrance?>(wrappedValue: nil)
  static let limit = 64

  private let queue: LaneQueue
  private let number: UInt64

  init(_ queue: LaneQueue, of number: UInt64) {
    self.queue = queue
    self.number = number
  }

  /// Lets the next call begin. Has no effect if called again or after the end of the call.
  func letNextIn() { queue.openEntrance(of: number) }
}

@usableFromInline package final class Bridge: Sendable {
  package let place: String
  package let label: String?

  init(to place: String, label: String?) { (self.place, self.label) = (place, label) }
}

/// An occurrence never re-enters an event or a far end on its path (G23).
@usableFromInline package final class ForwardingPath: Sendable {
  enum Step {
    case event(EventAnchor)
    case farEnd(any Hashable & Sendable)
    case paths([ForwardingPath])
  }

  private let last: Step
  private let before: ForwardingPath?

  init(_ last: Step, after before: ForwardingPath?) {
    self.last = last
    self.before = before
  }

  convenience init(_ anchor: EventAnchor, afterAll paths: [ForwardingPath]) {
    self.init(.event(anchor), after: paths.isEmpty ? nil : ForwardingPath(.paths(paths), after: nil))
  }

  func contains(_ anchor: EventAnchor) -> Bool {
    contains { if case .event(let passed) = $0 { passed === anchor } else { false } }
  }

  func contains<FarEnd: Hashable & Sendable>(farEnd: FarEnd) -> Bool {
    contains { if case .farEnd(let passed) = $0 { passed as? FarEnd == farEnd } else { false } }
  }

  private func contains(_ isIt: (Step) -> Bool) -> Bool {
    var path: ForwardingPath? = self
    while let here = path {
      if case .paths(let paths) = here.last { return paths.allSatisfy { $0.contains(isIt) } }
      if isIt(here.last) { return true }
      path = here.before
    }
    return false
  }
}
