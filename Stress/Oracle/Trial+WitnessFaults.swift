import Eventing

/// Adds faults that the witness, the trial's first handler, injects into its own event within a
/// call.
///
/// The witness is suited to this because it is called with every occurrence that no event lock
/// skips, one call at a time.
extension AnyTrial {
  /// Returns a closure that injects faults in some calls of the witness, the trial's first handler.
  /// The random numbers that are passed to the closure choose the calls.
  ///
  /// One of the faults posts a payload to the event. Only calls with payloads of workers inject
  /// faults, so the call with that payload does not post again.
  ///
  /// - Parameter senderLog: The record of the payloads that the witness posts.
  func makeTrouble(_ senderLog: SenderLog) -> @Sendable (StressPayload, inout Random) -> Void {
    let (subject, checks, workers) = (subject, context.checks, context.workers.count)
    return { payload, luck in
      guard payload.senderLog < workers else { return }
      if checks.faults.strikes(.reenter, &luck) {
        if luck.oneIn(2) {
          Trouble.post(to: subject, senderLog)
        } else {
          Trouble.addAndRemove(subject, named: luck.oneIn(2), checks)
        }
      }
      if checks.faults.strikes(.drop, &luck) {
        if luck.oneIn(2) { Trouble.dropOwner(subject, checks) } else { Trouble.dropEvent(checks) }
      }
    }
  }
}

enum Trouble {
  /// Posts one more occurrence, which must come after the current one.
  static func post(to subject: any TrialSubject, _ senderLog: SenderLog) {
    let payload = senderLog.next(to: subject.keyWithin)
    subject.postWithin(payload)
    senderLog.returned(payload)
  }

  /// Adds, locks, unlocks and removes a handler within one call of another handler. The next
  /// occurrence is delivered after that call, so the new handler must never be called.
  static func addAndRemove(_ subject: any TrialSubject, named isNamed: Bool, _ checks: Checks) {
    let canary = Canary(.handler)
    let token = subject.listeners.addHandler(.named("scratch"), .priority(isNamed ? -9 : 9)) { _ in
      checks.violate(
        .g6, "a handler was called that another handler had added and removed in one call (\(canary.isAlive))")
    }
    let isLocked = subject.lock(token, holding: nil) && subject.isLocked(token)
    checks.expect(.g9, isLocked, "a lock that a handler made had no effect")
    checks.expect(
      .g9, subject.unlock(token) && !subject.isLocked(token), "an unlock that a handler made had no effect")
    if isNamed {
      checks.expect(
        .g7, subject.removeAll(where: .named("scratch")) == 1,
        "a handler was not found by name right after it was added")
    } else {
      checks.expect(.g7, subject.remove(token), "a handler was not found right after it was added")
    }
    checks.expect(
      .g11, !subject.remove(token) && !subject.isLocked(token) && !subject.unlock(token),
      "a token had an effect after the removal of its handler")
  }

  // MARK: Releasing

  /// An owner of a handler. One local variable has the only strong reference to it.
  private final class Owner: Sendable {
    private let canary = Canary(.owner)
    private let isGone: Counter

    init(_ isGone: Counter) { self.isGone = isGone }
    deinit { isGone.add() }
  }

  /// Adds a handler with an owner during a delivery, and releases the owner. The next occurrence is
  /// delivered after the release, so the handler must never be called.
  static func dropOwner(_ subject: any TrialSubject, _ checks: Checks) {
    let (canary, isGone) = (Canary(.handler), Counter())
    var owner: Owner? = Owner(isGone)
    if let owner {
      subject.listeners.addHandler(.priority(-9), owner: owner) { _, _ in
        checks.violate(.g10, "a handler was called after the release of its owner (\(canary.isAlive))")
      }
    }
    owner = nil
    // Another thread that counts the handlers may retain the owner for a short time.
    let deadline = Clock.now + 1_000_000_000
    while isGone.value == 0, Clock.now < deadline { RawThread.giveWay() }
    checks.expect(.g10, isGone.value == 1, "an owner is alive though only its handler refers to it")
  }

  /// Holds the only strong reference to an event.
  // Safe: accessed on one thread only, by the inline handlers that one post calls there.
  private final class Holder: @unchecked Sendable {
    var event: Event<Bomb>? = Event()
  }

  /// A payload whose `deinit` posts.
  private final class Bomb: Sendable {
    private let canary = Canary(.payload)
    private let fuse: @Sendable () -> Void

    init(_ fuse: @escaping @Sendable () -> Void) { self.fuse = fuse }
    deinit { fuse() }
  }

  /// Releases the last stored reference to an event in the event's first handler. That handler has
  /// a local reference, through which it then posts three more times. The post that called it and
  /// these three must reach the second handler.
  static func dropEvent(_ checks: Checks) {
    let (holder, echo) = (Holder(), Event<Int>("echo"))
    let (calls, echoes) = (Counter(), Counter())
    let canary = Canary(.handler)
    echo.addHandler { _ in echoes.add() }
    let makeBomb: @Sendable () -> Bomb = { Bomb { echo.post(1) } }
    holder.event?.addHandler { _ in
      guard let event = holder.event, canary.isAlive else { return }
      holder.event = nil
      for _ in 0..<3 { event.post(makeBomb()) }
    }
    holder.event?.addHandler { _ in calls.add() }
    holder.event?.post(makeBomb())
    checks.expect(
      .g12, holder.event == nil && calls.value == 4, "an event that its handler released delivered \(calls.value) of 4"
    )
    checks.expect(.g20, echoes.value == 4, "\(echoes.value) of 4 payloads posted when they were released")
  }
}
