import Synchronization

// The three ways to send. The fast paths of a post and of a send are compiled with the user's
// module, into which they are inlined; the rest is compiled once, with the library.
extension EventCore {
  /// Posts: see ``Event/post(_:from:)``.
  ///
  /// Each path borrows the payload in a closure of its own. One closure around all paths would
  /// retain the sender on the fast path.
  @inlinable @inline(__always) func post<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)?
  ) {
    let own = enter()
    guard own != 0 else { return lend(payload) { postBusy($0, from: sender) } }
    lend(payload) { payload in
      if let cursor = unsafe deliver(payload, isPost: true) { postSlowPath(payload, from: cursor, sender: sender) }
    }
    leave(own)
  }

  /// Delivers a post to the handlers that the fast path did not reach. Isolation: core.
  @usableFromInline @inline(never) func postSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, sender: (any AnyObject & Sendable)?
  ) {
    if mustSetAside(cursor) {
      return setAside(payload, sender == nil && !CarriedContext.isCarrying ? nil : Completion(.post, from: sender))
    }
    _ = unsafe deliverSlowPath(payload, from: cursor, isAwaited: false, sender: sender)
  }

  /// Sends: see ``Event/send(_:from:)``.
  ///
  /// Not inlined, for two reasons. The compiler merges equal functions, so payload types of one
  /// layout share this function. And ``Event/send(_:from:)``, which calls this function, stays so
  /// small that the compiler inlines it. That spares each send the call of an async function: about
  /// 200 instructions (x86-64 Linux).
  @inlinable @inline(never) func send<Payload: Sendable>(
    _ payload: Payload, from sender: (any AnyObject & Sendable)?
  ) -> SendResult {
    let own = enter()
    let pending = lend(payload) { payload -> PendingSend? in
      guard own != 0 else { return sendBusy(payload, from: sender) }
      guard let cursor = unsafe deliver(payload, isPost: false) else { return nil }
      return sendSlowPath(payload, from: cursor, own, sender)
    }
    if let pending { return SendResult(pending: pending) }
    let result = unsafe SendResult(pending: nil, sequence: sequence, delivered: Int(table.count))
    leave(own)
    return result
  }

  /// Delivers a send to the handlers that the fast path did not reach, and leaves the core.
  /// Isolation: core.
  @usableFromInline @inline(never) func sendSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, _ own: UInt, _ sender: (any AnyObject & Sendable)?
  ) -> PendingSend {
    if mustSetAside(cursor) {
      let completion = Completion(.send, from: sender)
      noteWait(.send, completion)
      setAside(payload, completion)
      return PendingSend(report: SendReport(), completion: completion)
    }
    let tally = unsafe deliverSlowPath(payload, from: cursor, isAwaited: true, sender: sender)
    leave(own)
    return PendingSend(tally)
  }

  /// Submits: see ``Event/submit(_:from:)``.
  func submit(_ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?) -> SendTicket {
    let completion = Completion(.ticket, from: sender)
    if isTraced { completion.noteOrigin() }
    noteWait(.ticket, completion)
    let own = DeliveryDepth.isTooDeep ? 0 : enter()
    if own != 0 {
      deliverQueued(payload, completion)
      leave(own)
    } else if enqueue(payload, completion) {
      OverloadControl.slowDown()
    }
    return SendTicket(completion: completion)
  }
}
