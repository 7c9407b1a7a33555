/// What becomes known of an occurrence while it is delivered with something to decide.
///
/// Not copyable: a copy would count references of all that is in it.
@usableFromInline struct DeliveryTally: ~Copyable {
  @usableFromInline let sequence: UInt64
  @usableFromInline var delivered = 0
  @usableFromInline var skipped = 0
  @usableFromInline var dropped = 0
  /// HeldOccurrence by a lock.
  @usableFromInline var held = 0
  @usableFromInline var failures: [HandlerFailure] = []
  /// An interceptor keeps it from the handlers that follow.
  @usableFromInline var isStopped = false
  /// Made when the first handler needs it, if somebody waits.
  @usableFromInline var completion: Completion?
  @usableFromInline let isAwaited: Bool
  @usableFromInline let sender: (any AnyObject & Sendable)?
  /// Given to lanes that tell later what became of it.
  @usableFromInline var taken = 0
  /// For those who observe the event.
  @usableFromInline var observed: ObservedOccurrence?
  /// It was held by a lock, and that has ended.
  @usableFromInline var isLate = false
  /// It was late, and a send had brought it.
  @usableFromInline var isLateSend = false
  /// It was late, and is to be held on.
  @usableFromInline var isHeldOn = false
  /// When the delivery began, if a handler wants to know.
  @usableFromInline let instant: StableInstant?
  /// The events that the occurrence came through, if it was forwarded.
  @usableFromInline let path: ForwardingPath?

  @usableFromInline init(
    sequence: UInt64, isAwaited: Bool, sender: (any AnyObject & Sendable)?, completion: Completion?,
    path: ForwardingPath?, isClocked: Bool
  ) {
    self.sequence = sequence
    self.isAwaited = isAwaited
    self.sender = sender
    self.completion = completion
    self.path = path
    instant = isClocked ? .now : nil
  }

  /// For what a lock has held.
  init(_ item: HeldOccurrence) {
    sequence = item.sequence
    isAwaited = false
    sender = item.sender
    path = item.path
    instant = item.instant
    isLate = true
    isLateSend = item.isSend
  }

  /// What goes onto a lane with the payload, if somebody waits.
  @usableFromInline mutating func completionIfAwaited() -> Completion? {
    guard isAwaited else { return nil }
    if completion == nil {
      completion = Completion(.send, from: sender)
      unsafe completion?.observed = observed
    }
    return completion
  }

  /// From now on there is somebody to tell.
  @usableFromInline mutating func observe(_ observers: Observers?) {
    guard let observers else { return }
    observed = ObservedOccurrence(observers: observers, sequence: sequence)
    unsafe completion?.observed = observed
    observers.accepted(sequence)
  }

  /// The same, or what has the sender's task-local values.
  @usableFromInline mutating func completionForLane() -> Completion? {
    if completion == nil, isAwaited || CarriedContext.isCarrying || observed != nil || isLateSend {
      completion = Completion(isAwaited ? .send : .post, from: sender)
      if isLateSend { unsafe completion?.needsNoRoom = true }
      unsafe completion?.observed = observed
    }
    return completion
  }

  /// Whether a send brings it, which waits for room, and so is dropped nowhere for want of it.
  var isSend: Bool { isLateSend || (isAwaited && (completion?.purpose ?? .send) == .send) }

  /// A call of a handler, inline.
  @usableFromInline @inline(__always) mutating func call(
    _ record: HandlerRecord, _ identity: EventIdentity, _ body: () throws -> Void
  ) {
    if observed != nil { return watch(record, identity, body) }
    do {
      try body()
      delivered &+= 1
    } catch { fail(record, identity, error) }
  }

  /// The same for those who observe the event.
  @usableFromInline @inline(never) mutating func watch(
    _ record: HandlerRecord, _ identity: EventIdentity, _ body: () throws -> Void
  ) {
    let call = observed?.began(HandlerToken(record, identity))
    do {
      try body()
      call?.ended(nil)
      delivered &+= 1
    } catch {
      call?.ended(error)
      fail(record, identity, error)
    }
  }

  @usableFromInline mutating func fail(_ record: HandlerRecord, _ identity: EventIdentity, _ error: any Error) {
    let failure = HandlerFailure(HandlerToken(record, identity), error, record.details?.options)
    failures.append(failure)
    if identity.note(failure) { isStopped = true }
  }

  @usableFromInline mutating func count(_ outcome: HandlerOutcome) {
    switch outcome {
    case .delivered: delivered &+= 1
    case .skipped: skipped &+= 1
    case .dropped: dropped &+= 1
    case .held: held &+= 1
    case .failed(let failure): failures.append(failure)
    }
  }

  @usableFromInline var report: SendReport {
    SendReport(
      sequence: sequence, delivered: delivered, skipped: skipped, dropped: dropped, deferred: held, failures: failures)
  }

  /// Outside, for a send: waits for what is still out.
  @usableFromInline nonisolated(nonsending) consuming func finish() async -> SendReport {
    guard let completion else { return report }
    completion.finishDelivery(report)
    return await completion.wait()
  }
}
