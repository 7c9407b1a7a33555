import Dispatch
import Synchronization

// The fast paths of a post and of a send are inlined into the user's module; the rest is compiled
// once, with the library.
extension EventCore {
  /// Each path has a closure of its own: one around all paths would retain the sender on the fast
  /// path.
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

  /// Isolation: core.
  @usableFromInline @inline(never) func postSlowPath(
    _ payload: BorrowedPayload, from cursor: DeliveryCursor, sender: (any AnyObject & Sendable)?
  ) {
    if mustSetAside(cursor) {
      return setAside(payload, sender == nil && !CarriedContext.isCarrying ? nil : Completion(.post, from: sender))
    }
    _ = unsafe deliverSlowPath(payload, from: cursor, isAwaited: false, sender: sender)
  }

  /// Not inlined. So payload types of one layout share the function, because the compiler merges
  /// equal functions. And ``Event/send(_:from:)`` stays small enough to be inlined, which spares
  /// each send the call of an async function: 200 instructions (x86-64 Linux).
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
