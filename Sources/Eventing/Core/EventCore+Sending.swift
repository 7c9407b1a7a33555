import Dispatch
import Synchronization

// The fast paths of posts and sends are inlined into the user's module. The rest is compiled once,
// with the library.
extension EventCore {
  /// Each path has its own closure, because one closure around all paths would retain the sender
  /// even on the fast path.
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

  // Isolation: core.
  @usableFromInline @inline(never) func postSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, sender: (any AnyObject & Sendable)?
  ) {
    if mustSetAside(cursor) {
      return setAside(payload, sender == nil && !CarriedContext.isCarrying ? nil : Completion(.post, from: sender))
    }
    _ = unsafe deliverSlowPath(payload, from: cursor, isAwaited: false, sender: sender)
  }

  /// Not inlined, so that payload types with the same layout share this function (the compiler
  /// merges identical functions) and ``Event/send(_:from:)`` stays small enough to be inlined.
  /// Inlining that saves each send the call of an async function: 200 instructions on x86-64 Linux.
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

  /// Leaves the core. Isolation: core.
  @usableFromInline @inline(never) func sendSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, _ own: UInt, _ sender: (any AnyObject & Sendable)?
  ) -> PendingSend {
    if mustSetAside(cursor) {
      let completion = Completion(.send, from: sender)
      noteWait(.send, completion)
      setAside(payload, completion)
      return PendingSend(report: SendReport(), completion: completion)
    }
    let delivery = unsafe deliverSlowPath(payload, from: cursor, isAwaited: true, sender: sender)
    leave(own)
    return PendingSend(delivery)
  }

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
