#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Not copyable, because a copy would retain every reference.
@usableFromInline struct Delivery: ~Copyable {
  var report: SendReport
  var forLaterHandlers = ForLaterHandlers.same
  var substitute: SharedPayload?
  var completion: Completion?
  let isAwaited: Bool
  let sender: (any AnyObject & Sendable)?
  var enqueued = 0
  var observed: ObservedOccurrence?
  var isLate = false
  /// Makes a full buffer that suspends senders accept the occurrence as if a `send` were waiting
  /// for it. Set for a `send` that no longer waits, for a replayed payload, and for an occurrence
  /// that a pace delivers early.
  var isLateSend = false
  var isReplay = false
  var isHeldOn = false
  let instant: StableInstant?
  let path: ForwardingPath?
  /// `nil` if a pace behind a view has kept the view's payload but not the event's.
  var payload: BorrowedPayload?

  var isStopped: Bool { forLaterHandlers == .nothing }

  var sequence: UInt64 { report.sequence }

  init(
    _ payload: BorrowedPayload, sequence: UInt64, isAwaited: Bool, sender: (any AnyObject & Sendable)?,
    completion: Completion?, path: ForwardingPath?, isClocked: Bool
  ) {
    self.payload = payload
    report = SendReport(sequence: sequence)
    self.isAwaited = isAwaited
    self.sender = sender
    self.completion = completion
    self.path = path
    instant = isClocked ? .now : nil
  }

  init(_ payload: BorrowedPayload, _ held: HeldOccurrence) {
    self.payload = payload
    report = SendReport(sequence: held.sequence)
    completion = held.completion
    isAwaited = held.completion != nil
    sender = held.sender
    path = held.path
    instant = held.instant
    isLate = true
    isLateSend = held.isSend
  }

  init(
    _ payload: BorrowedPayload?, paced sequence: UInt64, _ completion: Completion?,
    from sender: (any AnyObject & Sendable)?, along path: ForwardingPath?, at instant: StableInstant?, isLateSend: Bool
  ) {
    self.payload = payload
    report = SendReport(sequence: sequence)
    isAwaited = completion?.isAwaited ?? false
    self.sender = sender
    self.completion = completion
    self.path = path
    self.instant = instant
    self.isLateSend = isLateSend
  }

  // MARK: Completion

  mutating func completionIfAwaited() -> Completion? {
    guard isAwaited else { return nil }
    if completion == nil {
      completion = Completion(.send, from: sender, along: path)
      unsafe completion?.observed = observed
    }
    return completion
  }

  mutating func needNoRoom() {
    isLateSend = true
    unsafe completion?.needsNoRoom = true
  }

  mutating func completionForLane() -> Completion? {
    if completion == nil, isAwaited || CarriedContext.isCarrying || observed != nil || isLateSend || path != nil {
      completion = Completion(isAwaited ? .send : .post, from: sender, along: path)
      if isLateSend { unsafe completion?.needsNoRoom = true }
      unsafe completion?.isHeldKnown = isLate
      unsafe completion?.observed = observed
    }
    return completion
  }

  var mayCallHere: Bool { observed == nil && completion.map { !$0.isBound && !$0.staysInHand } ?? true }

  mutating func observe(_ observers: Observers?) {
    guard let observers else { return }
    observed = ObservedOccurrence(observers: observers, sequence: sequence)
    unsafe completion?.observed = observed
  }

  /// A buffer that suspends senders accepts the occurrence of a `send` even when it is full.
  var isSend: Bool { isLateSend || (isAwaited && (completion?.purpose ?? .send) == .send) }

  /// Must not be called inside the core.
  nonisolated(nonsending) consuming func finish() async -> SendReport {
    guard let completion else { return report }
    completion.finishDelivery(report)
    return await completion.wait()
  }
}

// Calling inline handlers, including those that are retried immediately.

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

/// The number of nested deliveries on a thread. Each takes up to 7 KB of stack in a debug build,
/// and a thread may have 512 KB or less. At ``limit``, a chain of events that post or forward to
/// one another continues on the next event's own queue, with a fresh stack.
@usableFromInline enum DeliveryDepth {
  static let limit = 32

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let error = unsafe pthread_key_create(&key) { cell in
      // `cell` isn't optional on Darwin.
      let cell: UnsafeMutableRawPointer? = unsafe cell
      unsafe cell?.deallocate()
    }
    precondition(error == 0, "expected a key for a value of each thread; pthread_key_create returned \(error)")
    return key
  }()

  @inline(__always) static var ofThread: UnsafeMutablePointer<Int> {
    // Safe: only `makeCell()` stores a value for the key.
    unsafe pthread_getspecific(key).map { unsafe UnsafeMutablePointer(OpaquePointer($0)) } ?? makeCell()
  }

  @inline(never) private static func makeCell() -> UnsafeMutablePointer<Int> {
    let cell = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    unsafe cell.initialize(to: 0)
    _ = unsafe pthread_setspecific(key, cell)
    return unsafe cell
  }

  static var isTooDeep: Bool { unsafe ofThread.pointee >= limit }
}

extension EventCore {
  /// On return, the thread is outside the core, so a later ``leave(_:)`` does nothing.
  /// Isolation: core.
  func setAside(_ payload: BorrowedPayload, _ completion: Completion?) {
    let rareState = rareState
    unsafe rareState.batch.append(.occurrence(by: Drainer.queue, completion), payload)
    handOff(rareState)
  }

  // Isolation: core.
  func mustSetAside(_ cursor: DeliveryCursor) -> Bool {
    guard DeliveryDepth.isTooDeep, cursor.error == nil, cursor.index == 0, unsafe cursor.bucket == table.first else {
      return false
    }
    sequence &-= 1  // the delivery on the event's queue will count the occurrence
    return true
  }
}
