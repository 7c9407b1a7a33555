// A forward is a handler: it has its place in the order, a token, and can be removed and locked. The occurrence enters the next event, or queues there, before the
// next handler is called; it keeps its sender. It does not enter an event that it is already passing through, so a cycle ends. Where several ways lead to one
// event, each delivers. The report counts a forward as delivered when its target took the occurrence, and as skipped when the transform gave `nil` or it
// closed a cycle. `send` waits for the target's handlers; their errors are in no report but the target's own. A chain of dozens of events goes on from a
// queue now and then, so that none is too long for the stack.

extension EventSource {
  /// Sends on to an event what comes from here.
  ///
  /// - Parameters:
  ///   - target: where to; an event that the occurrence is already passing through is left out.
  ///   - strongly: whether the target is kept alive. Otherwise the forward ends when it goes.
  /// - Complexity: O(1); for each occurrence what the target's handlers cost, a step for each event that it came through, and one or two allocations.
  @discardableResult public nonisolated func forward(to target: Event<Payload>, strongly: Bool = false) -> HandlerToken
  {
    forward(to: target, strongly: strongly) { $0 }
  }

  /// Sends on what the transform makes of it; `nil` sends nothing.
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
          tally.delivered &+= 1
          return true
        }
      })
    handler.options.owner = Owner(target)
    handler.options.isForward = true
    return attach(handler)
  }

  /// Gives what the transform makes of it to something else than an event; ``Event/enter(_:_:)`` is the way back.
  ///
  /// - Parameter object: if there is one, it ends with that.
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
          tally.delivered &+= 1
          return true
        }
      })
    handler.options.owner = object.map { Owner($0) }
    handler.options.isForward = true
    return attach(handler)
  }
}

/// What a forwarded occurrence has with it: the way that it came, who sent it, and who waits for it.
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
  /// Ends every forward to that event, and returns how many there were. O(handlers).
  @discardableResult public nonisolated func removeForwarding<Other: Sendable>(to target: Event<Other>) -> Int {
    core.removeAll { $1?.isForward == true && $1?.owner?.mayBe(target) == true }
  }

  /// Takes what ``EventSource/forwardOut(_:)`` gave away, unless it came through this event.
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
    } else if lend(payload, { core.enqueue($0, completion, by: path.isDeep ? Drainer.drain : Thread.current) }),
      transit.waiting == nil
    {
      OverloadControl.slowDown()
    }
  }
}
