// Calls of inline handlers, and further attempts of handlers that are retried at once.

extension Delivery {
  @inline(__always) mutating func call(
    _ record: HandlerRecord, _ anchor: EventAnchor, _ body: () throws -> Void
  ) {
    if observed != nil { return callObserved(record, anchor, body) }
    do {
      try body()
      report.delivered &+= 1
    } catch { fail(record, anchor, error) }
  }

  @inline(never) mutating func callObserved(
    _ record: HandlerRecord, _ anchor: EventAnchor, _ body: () throws -> Void
  ) {
    guard let observed else { preconditionFailure("the caller has looked for observers") }
    let call = observed.began(HandlerToken(record, anchor))
    do {
      try body()
      observed.ended(call, .returned)
      report.delivered &+= 1
    } catch {
      observed.ended(call, .threw(error))
      fail(record, anchor, error)
    }
  }

  mutating func call(
    _ record: HandlerRecord, _ anchor: EventAnchor, _ retry: RetryRule, _ body: () throws -> Void
  ) {
    var attempts = 0
    let (observed, handler) = (observed, HandlerToken(record, anchor))
    while true {
      attempts += 1
      let call = observed?.began(handler, attempt: attempts)
      do {
        try body()
        if let call { observed?.ended(call, .returned) }
        report.delivered &+= 1
        return
      } catch {
        if let call { observed?.ended(call, .threw(error)) }
        guard retry.tries(error, after: attempts), !record.has(HandlerFlags.removed | HandlerFlags.lockedAtAll),
          record.details?.options.sharedClaim?.isRemoved != true
        else { return fail(record, anchor, error, attempts: attempts) }
      }
    }
  }

  @inline(never) mutating func fail(
    _ record: HandlerRecord, _ anchor: EventAnchor, _ error: any Error, attempts: Int = 1
  ) {
    let failure = HandlerFailure(
      HandlerToken(record, anchor), error, record.details?.options, attempts: attempts)
    report.failures.append(failure)
    if let payload { anchor.deadLetters?.post(payload, failure) }
    if anchor.report(failure) { forLaterHandlers = .nothing }
  }
}
