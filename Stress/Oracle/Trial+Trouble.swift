import Eventing

/// What a handler does to its own event within a call.
///
/// The witness meets it: it is called with every occurrence, one call at a time.
extension AnyTrial {
  /// What the witness is to do, if its luck says so, in the calls that a worker's payloads make; not in those that its own posts make, or it would have no end.
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
  /// One more occurrence, which comes after the one that is being delivered.
  static func post(to subject: any TrialSubject, _ senderLog: SenderLog) {
    let payload = senderLog.next()
    subject.postWithin(payload)
    senderLog.returned(payload)
  }

  /// A handler is added, locked, unlocked and removed. It is gone before the next occurrence, so it is never called.
  static func addAndRemove(_ subject: any TrialSubject, named isNamed: Bool, _ checks: Checks) {
    let canary = Canary(.handler)
    let token = subject.listeners.addHandler(named: "scratch", priority: isNamed ? -9 : 9) { _ in
      checks.violate(
        .g6, "a handler was called that was added, and removed again, within one call of another (\(canary.isAlive))")
    }
    let isLocked = subject.lock(token, holding: .nothing) && subject.isLocked(token)
    checks.expect(.g9, isLocked, "a lock did not hold that a handler made")
    checks.expect(
      .g9, subject.unlock(token) && !subject.isLocked(token), "an unlock did not hold that a handler made")
    if isNamed {
      checks.expect(
        .g7, subject.remove(named: "scratch") == 1, "a handler was not found by name right after it was added")
    } else {
      checks.expect(.g7, subject.remove(token), "a handler was not found right after it was added")
    }
    checks.expect(
      .g11, !subject.remove(token) && !subject.isLocked(token) && !subject.unlock(token),
      "a token outlived its handler")
  }

  // MARK: Letting go

  /// An owner of a handler that was added here, and that nobody else holds.
  private final class Owner: Sendable {
    private let canary = Canary(.owner)
    private let isGone: Counter

    init(_ isGone: Counter) { self.isGone = isGone }
    deinit { isGone.add() }
  }

  /// An owner goes while the event delivers. It is gone before the next occurrence, so its handler is never called.
  static func dropOwner(_ subject: any TrialSubject, _ checks: Checks) {
    let (canary, isGone) = (Canary(.handler), Counter())
    var owner: Owner? = Owner(isGone)
    if let owner {
      subject.listeners.addHandler(priority: -9, owner: owner) { _, _ in
        checks.violate(.g10, "a handler was called whose owner went within the call that added it (\(canary.isAlive))")
      }
    }
    owner = nil
    // Another thread that counts the handlers holds the owner for a moment.
    let deadline = Clock.now + 1_000_000_000
    while isGone.value == 0, Clock.now < deadline { RawThread.giveWay() }
    checks.expect(.g10, isGone.value == 1, "an owner is alive though nobody holds it but its handler")
  }

  /// Holds the one reference to an event.
  // Safe: touched on one thread only, by the inline handlers that one post calls there.
  private final class Holder: @unchecked Sendable {
    var event: Event<Bomb>? = Event()
  }

  /// A payload that posts when it is released.
  private final class Bomb: Sendable {
    private let canary = Canary(.payload)
    private let fuse: @Sendable () -> Void

    init(_ fuse: @escaping @Sendable () -> Void) { self.fuse = fuse }
    deinit { fuse() }
  }

  /// The first handler of an event lets go of it while a post is under way, and what is nested in it still reaches the second.
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
      .g12, holder.event == nil && calls.value == 4, "an event that its handler let go of delivered \(calls.value) of 4"
    )
    checks.expect(.g20, echoes.value == 4, "\(echoes.value) of 4 payloads posted when they were released")
  }
}
