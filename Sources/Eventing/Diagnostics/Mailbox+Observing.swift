// An event that is observed, or whose unheard occurrences somebody asks for, is not entered the quick way, as one that keeps a history: what is sent to it is queued, by whoever
// finds it idle too, and worked off at once. So those that nobody observes pay nothing.

extension Mailbox {
  /// From any thread.
  func observe(in slot: ObserverSlot, _ name: String?) {
    let home = home
    change {
      let only = Observers([slot], of: name)
      unsafe self.forEachRow { row in
        let record = unsafe row.pointee.record
        if unsafe record.slot >= 0 { only.added(HandlerToken(record, home)) }
      }
      unsafe home.observers = home.observers?.adding(slot) ?? only
      self.settleKeeping()
    }
  }

  /// From any thread: changes what the event is, in its turn. In a flood of changes the caller naps, as posters do.
  private func change(_ body: @escaping @Sendable () -> Void) {
    if put(.change(body, by: Thread.current)) { Flood.slowDown() }
  }

  /// From any thread: some observation has ended.
  func forgetObservers() { change { _ = self.livingObservers() } }

  /// Inside, while the queue is worked off: those that observe now. If there are none any more, the event is entered the quick way again.
  @usableFromInline func livingObservers() -> Observers? {
    guard let home = homeReference.load(), let before = unsafe home.observers else { return nil }
    let living = before.living
    if living !== before {
      unsafe home.observers = living
      settleKeeping()
    }
    return living
  }

  /// From any thread: the event of what reached nobody; made when first asked for.
  func unheard<Payload: Sendable>(_ name: String?) -> Event<Occurrence<Payload>> {
    let backlog = backlog
    let event = Event<Occurrence<Payload>>("unheard")
    let made = Unheard(name, event) { loan, sender, name, sequence, instant in
      event.post(
        Occurrence(payload: loan.payload(Payload.self), sender: sender, eventName: name, sequence: sequence, instant: instant),
        from: sender)
    } finish: {
      event.finish()
    }
    let unheard = backlog.unheardReference.load() ?? backlog.unheardReference.set(made)
    if unheard === made { change { self.settleKeeping() } }
    return unheard.event as! Event<Occurrence<Payload>>
  }

  /// Inside, while the queue is worked off, whose end sets the word.
  private func settleKeeping() {
    let isUnheardWanted = backlog.unheardReference.load() != nil
    isKeeping = unsafe backlog.history != nil || home.observers != nil || isUnheardWanted
  }

  /// Inside, after an occurrence: tells if it reached nobody.
  @usableFromInline func tellIfUnheard(_ payload: Loan, _ tally: borrowing Tally) {
    guard let unheard = backlogReference.load()?.unheardReference.load() else { return }
    guard tally.delivered + tally.taken + tally.held + tally.failures.count == 0 else { return }
    unheard.post(payload, tally.sender, unheard.name, tally.sequence, (tally.instant ?? .now).instant)
  }

  /// Inside: a handler has joined, or left.
  @usableFromInline @inline(__always) func tellOf(_ record: Record, isAdded: Bool) {
    if withHome({ unsafe $0.observers != nil }) { tellObservers(of: record, isAdded: isAdded) }
  }

  @usableFromInline @inline(never) func tellObservers(of record: Record, isAdded: Bool) {
    guard let observers = unsafe home.observers else { return }
    let token = HandlerToken(record, home)
    if isAdded { observers.added(token) } else { observers.removed(token) }
  }
}

/// Where an event's occurrences go that reached nobody.
@usableFromInline final class Unheard: Sendable {
  typealias Post = @Sendable (Loan, (any AnyObject & Sendable)?, String?, UInt64, ContinuousClock.Instant) -> Void
  let event: any AnyObject & Sendable
  let name: String?
  let post: Post
  let finish: @Sendable () -> Void

  init(_ name: String?, _ event: any AnyObject & Sendable, _ post: @escaping Post, finish: @escaping @Sendable () -> Void) {
    self.name = name
    self.event = event
    self.post = post
    self.finish = finish
  }
}
