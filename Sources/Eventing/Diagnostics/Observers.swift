import Synchronization

/// One observation: the observer, until it ends.
// Safe: `observer` is guarded by `lock`.
final class ObserverSlot: @unchecked Sendable {
  private let lock = Lock()
  @exclusivity(unchecked) private var observer: (any EventObserver)?

  init(_ observer: any EventObserver) { unsafe self.observer = observer }

  /// Nil when it has ended.
  var current: (any EventObserver)? { lock.withLock { unsafe observer } }

  func end() {
    lock.lock()
    let gone = unsafe observer
    unsafe observer = nil
    lock.unlock()
    (gone as? EventDiagnostics)?.forgetOthers()
  }
}

/// Who observes an event, as it was at one time.
@usableFromInline final class Observers: Sendable {
  private let slots: [ObserverSlot]
  private let event: String?

  init(_ slots: [ObserverSlot] = [], of event: String?) {
    self.slots = slots
    self.event = event
  }

  func adding(_ slot: ObserverSlot) -> Observers { Observers(slots + [slot], of: event) }

  /// Those that have not ended; itself if that is all, nil if there are none.
  var living: Observers? {
    let rest = slots.filter { $0.current != nil }
    return rest.isEmpty ? nil : rest.count == slots.count ? self : Observers(rest, of: event)
  }

  func accepted(_ sequence: UInt64) { tell { $0.accepted(sequence: sequence, event: event) } }
  @usableFromInline func added(_ handler: HandlerToken) { tell { $0.added(handler, event: event) } }
  @usableFromInline func removed(_ handler: HandlerToken) { tell { $0.removed(handler) } }

  fileprivate func tell(_ body: (any EventObserver) -> Void) {
    for slot in slots { if let observer = slot.current { body(observer) } }
  }
}

/// One occurrence for those who observe its event. It goes onto the lanes with it.
@usableFromInline struct Watched: Sendable {
  let observers: Observers
  let sequence: UInt64

  @usableFromInline func skipped(_ handler: HandlerToken) { observers.tell { $0.skipped(handler, sequence: sequence) } }
  @usableFromInline func dropped(_ handler: HandlerToken) { observers.tell { $0.dropped(handler, sequence: sequence) } }
  @usableFromInline func held(_ handler: HandlerToken) { observers.tell { $0.held(handler, sequence: sequence) } }

  /// Before a call; gives what tells of its end.
  @usableFromInline func began(_ handler: HandlerToken) -> WatchedCall {
    observers.tell { $0.began(handler, sequence: sequence) }
    return WatchedCall(watched: self, handler: handler)
  }
}

/// A call that is running.
@usableFromInline struct WatchedCall: Sendable {
  fileprivate let watched: Watched
  fileprivate let handler: HandlerToken
  private let start = Moment.now

  fileprivate init(watched: Watched, handler: HandlerToken) {
    self.watched = watched
    self.handler = handler
  }

  @usableFromInline func ended(_ error: (any Error)?) {
    let duration = Moment.now.sinceOrigin - start.sinceOrigin
    watched.observers.tell { $0.ended(handler, sequence: watched.sequence, duration: duration, error: error) }
  }
}

/// Who observes each event that is made.
enum NewEvents {
  private static let isObserved = Atomic<Bool>(false)
  private static let registry = Registry()

  // Safe: `slots` is guarded by `lock`.
  private final class Registry: @unchecked Sendable {
    let lock = Lock()
    @exclusivity(unchecked) var slots: [ObserverSlot] = []
  }

  static func add(_ slot: ObserverSlot) {
    registry.lock.withLock {
      unsafe registry.slots.append(slot)
      isObserved.publish(true)
    }
  }

  static func remove(_ slot: ObserverSlot) {
    registry.lock.withLock {
      unsafe registry.slots.removeAll { $0 === slot }
      if unsafe registry.slots.isEmpty { isObserved.publish(false) }
    }
  }

  /// Before anybody else knows the event.
  static func tell(_ mailbox: Mailbox, _ name: String?) {
    guard isObserved.load(ordering: .acquiring) else { return }
    let slots = registry.lock.withLock { unsafe registry.slots.map { $0 } }  // no array leaves the lock that is changed in place there
    for slot in slots { mailbox.observe(in: slot, name) }
  }
}
