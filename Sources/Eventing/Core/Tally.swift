/// What becomes known of an occurrence while it is delivered with something to decide.
///
/// Not copyable: a copy would count references of all that is in it.
@usableFromInline struct Tally: ~Copyable {
  @usableFromInline let sequence: UInt64
  @usableFromInline var delivered = 0
  @usableFromInline var skipped = 0
  @usableFromInline var dropped = 0
  /// Held by a lock.
  @usableFromInline var held = 0
  @usableFromInline var failures: [HandlerFailure] = []
  /// An interceptor keeps it from the handlers that follow.
  @usableFromInline var isStopped = false
  /// Made when the first handler needs it, if somebody waits.
  @usableFromInline var flight: Flight?
  @usableFromInline let isAwaited: Bool
  @usableFromInline let sender: (any AnyObject & Sendable)?
  /// Given to lanes that tell later what became of it.
  @usableFromInline var taken = 0
  /// For those who observe the event.
  @usableFromInline var watched: Watched?
  /// It was held by a lock, and that has ended.
  @usableFromInline var isLate = false
  /// It was late, and a send had brought it.
  @usableFromInline var isLateSend = false
  /// It was late, and is to be held on.
  @usableFromInline var isHeldOn = false
  /// When the delivery began, if a handler wants to know.
  @usableFromInline let instant: Moment?
  /// The events that the occurrence came through, if it was forwarded.
  @usableFromInline let path: Path?

  @usableFromInline init(
    sequence: UInt64, isAwaited: Bool, sender: (any AnyObject & Sendable)?, flight: Flight?, path: Path?, isClocked: Bool
  ) {
    self.sequence = sequence
    self.isAwaited = isAwaited
    self.sender = sender
    self.flight = flight
    self.path = path
    instant = isClocked ? .now : nil
  }

  /// For what a lock has held.
  init(_ item: Held) {
    sequence = item.sequence
    isAwaited = false
    sender = item.sender
    path = item.path
    instant = item.instant
    isLate = true
    isLateSend = item.isSend
  }

  /// What goes onto a lane with the payload, if somebody waits.
  @usableFromInline mutating func flightIfAwaited() -> Flight? {
    guard isAwaited else { return nil }
    if flight == nil {
      flight = Flight(.send, from: sender)
      unsafe flight?.watched = watched
    }
    return flight
  }

  /// From now on there is somebody to tell.
  @usableFromInline mutating func observe(_ observers: Observers?) {
    guard let observers else { return }
    watched = Watched(observers: observers, sequence: sequence)
    unsafe flight?.watched = watched
    observers.accepted(sequence)
  }

  /// The same, or what has the sender's task-local values.
  @usableFromInline mutating func flightForLane() -> Flight? {
    if flight == nil, isAwaited || CarriedContext.isCarrying || watched != nil || isLateSend {
      flight = Flight(isAwaited ? .send : .post, from: sender)
      if isLateSend { unsafe flight?.needsNoRoom = true }
      unsafe flight?.watched = watched
    }
    return flight
  }

  /// Whether a send brings it, which waits for room, and so is dropped nowhere for want of it.
  var isSend: Bool { isLateSend || (isAwaited && (flight?.purpose ?? .send) == .send) }

  /// A call of a handler, inline.
  @usableFromInline @inline(__always) mutating func call(_ record: Record, _ home: Home, _ body: () throws -> Void) {
    if watched != nil { return watch(record, home, body) }
    do {
      try body()
      delivered &+= 1
    } catch { fail(record, home, error) }
  }

  /// The same for those who observe the event.
  @usableFromInline @inline(never) mutating func watch(_ record: Record, _ home: Home, _ body: () throws -> Void) {
    let call = watched?.began(HandlerToken(record, home))
    do {
      try body()
      call?.ended(nil)
      delivered &+= 1
    } catch {
      call?.ended(error)
      fail(record, home, error)
    }
  }

  @usableFromInline mutating func fail(_ record: Record, _ home: Home, _ error: any Error) {
    let failure = HandlerFailure(HandlerToken(record, home), error, record.details?.options)
    failures.append(failure)
    if home.note(failure) { isStopped = true }
  }

  @usableFromInline mutating func count(_ outcome: Outcome) {
    switch outcome {
    case .delivered: delivered &+= 1
    case .skipped: skipped &+= 1
    case .dropped: dropped &+= 1
    case .held: held &+= 1
    case .failed(let failure): failures.append(failure)
    }
  }

  @usableFromInline var report: SendReport {
    SendReport(sequence: sequence, delivered: delivered, skipped: skipped, dropped: dropped, deferred: held, failures: failures)
  }

  /// Outside, for a send: waits for what is still out.
  @usableFromInline nonisolated(nonsending) consuming func finish() async -> SendReport {
    guard let flight else { return report }
    flight.finishDelivery(report)
    return await flight.wait()
  }
}
