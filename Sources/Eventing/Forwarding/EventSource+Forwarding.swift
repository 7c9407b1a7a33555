// A forward is a handler that enters another event. A chain of dozens of forwards continues on a
// queue now and then, so that it fits any stack (`ForwardingPath.isDeep`).

extension EventSource {
  /// Forwards every payload to another event.
  ///
  /// A forward is a handler: it has a place in the order and a token, and can be locked and
  /// removed. An occurrence enters the target, or is queued there, before the next handler of this
  /// event is called. It keeps its sender, and the order of each sender is kept.
  ///
  /// - Effective on return. Callable from any thread and inside a handler.
  /// - An occurrence never enters an event that it is already passing through, so a cycle ends. Two
  ///   ways to one event deliver twice.
  /// - ``Event/send(_:from:)`` waits for the target's handlers, too. Its report counts the forward
  ///   as delivered when the target took the occurrence. It counts the forward as skipped if it
  ///   would close a cycle. Errors of the target's handlers are in the target's ``Event/failures``
  ///   only.
  /// - ``Event/quiesce()`` covers one event: call it on the target next.
  /// - If the target is overloaded, a forwarded ``Event/post(_:from:)`` slows down as a direct one
  ///   does.
  ///
  /// - Parameters:
  ///   - target: The event that receives the payloads.
  ///   - strongly: Whether the forward retains the target. Otherwise the forward ends when the
  ///     target goes.
  /// - Returns: The token of the forward.
  /// - Complexity: O(1). Each occurrence then costs what the target's handlers cost, one step for
  ///   each event on its way, and one or two allocations.
  @discardableResult public nonisolated func forward(to target: Event<Payload>, strongly: Bool = false) -> HandlerToken
  {
    forward(to: target, strongly: strongly) { $0 }
  }

  /// Forwards the result of a closure to another event, otherwise like ``forward(to:strongly:)``.
  ///
  /// - Parameters:
  ///   - target: The event that receives the results.
  ///   - strongly: Whether the forward retains the target. Otherwise the forward ends when the
  ///     target goes.
  ///   - transform: A closure that is called once for each occurrence, on the thread that delivers.
  ///     If it returns `nil`, nothing is forwarded, and the report counts the forward as skipped.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward<Other: Sendable>(
    to target: Event<Other>, strongly: Bool = false, _ transform: @escaping @Sendable (Payload) -> Other?
  ) -> HandlerToken {
    let kept = strongly ? StrongTarget(target) : nil
    var handler = Handler<Payload>(
      .inline,
      .relay { record, identity in
        TransformedHandler(lane: nil) { payload, owner, tally in
          _ = kept
          guard let target = owner as? Event<Other>, let other = transform(payload.payload(Payload.self)) else {
            return false
          }
          let path = ForwardingPath(identity, after: tally.path)
          guard !path.contains(target.core.identity), record.claim() else { return false }
          target.take(other, ForwardingContext(path, &tally))
          tally.report.delivered &+= 1
          return true
        }
      })
    handler.options.owner = Owner(target)
    handler.options.isForward = true
    return attach(handler)
  }

  /// Forwards the results of a closure to something that is not an event. `Event.enter` is the way
  /// back.
  ///
  /// - Parameters:
  ///   - object: An object with whose end the forward ends; `nil` for none. It is held weakly.
  ///   - transform: A closure that makes a result; `nil` forwards nothing.
  ///   - body: A closure that takes the result, on the thread that delivers.
  package nonisolated func forwardOut<Other>(
    until object: (any AnyObject & Sendable)?, _ transform: @escaping @Sendable (Payload) -> Other?,
    _ body: @escaping @Sendable (Other, ForwardingContext) -> Void
  ) -> HandlerToken {
    var handler = Handler<Payload>(
      .inline,
      .relay { record, identity in
        TransformedHandler(lane: nil) { payload, _, tally in
          guard let other = transform(payload.payload(Payload.self)), record.claim() else { return false }
          body(other, ForwardingContext(ForwardingPath(identity, after: tally.path), &tally))
          tally.report.delivered &+= 1
          return true
        }
      })
    handler.options.owner = object.map { Owner($0) }
    handler.options.isForward = true
    return attach(handler)
  }
}

/// The path, the sender and the waiting completion of a forwarded occurrence.
package struct ForwardingContext: Sendable {
  fileprivate let path: ForwardingPath
  fileprivate let sender: (any AnyObject & Sendable)?
  fileprivate let waiting: Completion?

  fileprivate init(_ path: ForwardingPath, _ tally: inout DeliveryTally) {
    self.path = path
    sender = tally.sender
    waiting = tally.completionIfAwaited()
  }
}

extension Event {
  /// Removes all forwards from this event to another one, as ``remove(_:)-(HandlerToken)`` removes
  /// a handler.
  ///
  /// - Parameter target: The event that the forwards lead to.
  /// - Returns: The number of forwards that were there.
  /// - Complexity: O(*n*) for *n* handlers.
  @discardableResult public nonisolated func removeForwarding<Other: Sendable>(to target: Event<Other>) -> Int {
    core.removeAll { $1?.isForward == true && $1?.owner?.mayBe(target) == true }
  }

  /// Delivers a value that `EventSource.forwardOut` gave away, unless it came through this event.
  package nonisolated func enter(_ payload: Payload, _ transit: ForwardingContext) {
    if !transit.path.contains(core.identity) { take(payload, transit) }
  }

  fileprivate nonisolated func take(_ payload: Payload, _ transit: ForwardingContext) {
    let path = transit.path
    let completion = Completion(along: path, from: transit.sender, waiting: transit.waiting)
    let own = path.isDeep ? 0 : core.enter()
    if own != 0 {
      unsafe withUnsafePointer(to: payload) { unsafe core.deliverQueued(BorrowedPayload($0), completion) }
      core.leave(own)
    } else if lend(payload, { core.enqueue($0, completion, by: path.isDeep ? Drainer.queue : Thread.current) }),
      transit.waiting == nil
    {
      OverloadControl.slowDown()
    }
  }
}
