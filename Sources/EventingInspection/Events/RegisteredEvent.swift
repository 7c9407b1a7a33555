import Dispatch
import Eventing
import Synchronization

/// An event in the ``EventRegistry``, which does not keep it alive.
final class RegisteredEvent: Sendable {
  /// The number of the event, which no other event has.
  let id: UInt64
  /// The name, the number and the payload type.
  let identity: EventIdentity
  /// When the event joined the registry, on the ``InspectionClock``.
  let joinedAt: UInt64
  /// The number of occurrences before the event joined the registry.
  let sequenceBefore: UInt64
  let anchor: EventAnchor
  /// Whether the event has or had a handler, as far as the registry knows.
  let hasHadHandler = Atomic<Bool>(false)
  private let kindWord: Atomic<UInt8>

  private static let kinds: [HandlerTable.Kind] = [.event, .keyed, .observed, .question]

  init(_ anchor: EventAnchor, _ identity: EventIdentity, _ kind: HandlerTable.Kind, sequence: UInt64) {
    self.anchor = anchor
    self.identity = identity
    id = anchor.number
    joinedAt = InspectionClock.now
    sequenceBefore = sequence
    kindWord = Atomic(RegisteredEvent.number(of: kind))
  }

  var name: String? { identity.name }
  /// The type of the payloads, as users know it.
  var type: Any.Type { identity.payloadType }

  /// Whether the event is a plain ``Event``, or belongs to a ``KeyedEvent``, an ``Observed`` or a
  /// ``EventQuestion``.
  var kind: HandlerTable.Kind { RegisteredEvent.kinds[Int(kindWord.load(ordering: .relaxed))] }

  /// Whether some handler was added, as far as the registry knows.
  var wasEverHandled: Bool { hasHadHandler.load(ordering: .relaxed) }

  func note(_ kind: HandlerTable.Kind) { kindWord.store(RegisteredEvent.number(of: kind), ordering: .relaxed) }

  private static func number(of kind: HandlerTable.Kind) -> UInt8 { UInt8(kinds.firstIndex(of: kind) ?? 0) }

  /// The queues of events that inspections lock and unlock now, by the number of the event; and for
  /// how many requests.
  private static let locks = Guarded<[UInt64: (queue: DispatchQueue, count: Int)]>([:])

  /// Locks or unlocks the event, or one of its handlers.
  ///
  /// Requests for one event take effect in the order of these calls. They do so on a queue, and not
  /// on the caller's thread, because an unlock may deliver the occurrences that the lock held.
  ///
  /// - Parameters:
  ///   - isLocked: Whether to lock.
  ///   - handler: The number of the handler; `nil` for the event itself.
  ///   - holding: What a lock holds; `nil` for nothing. An unlock ignores it.
  ///   - done: A closure that is called on the queue when the request has taken effect: with false
  ///     if the event or the handler does not exist.
  func setLocked(
    _ isLocked: Bool, handler: UInt64?, holding: Buffering?, _ done: @escaping @Sendable (_ isFound: Bool) -> Void
  ) {
    let queue = Self.locks.withLock { locks in
      let queue = locks[id]?.queue ?? DispatchQueue(label: "eventing.lock", qos: .userInitiated)
      locks[id, default: (queue, 0)].count += 1
      return queue
    }
    queue.async { [self] in
      done(setLockedNow(isLocked, handler, holding))
      let gone = Self.locks.withLock { locks in
        locks[id]?.count -= 1
        return locks[id]?.count == 0 ? locks.removeValue(forKey: id) : nil
      }
      withExtendedLifetime(gone) {}
    }
  }

  private func setLockedNow(_ isLocked: Bool, _ handler: UInt64?, _ holding: Buffering?) -> Bool {
    guard let core = anchor.core else { return false }
    guard let handler else {
      core.setEventLock(isLocked, holding)
      return true
    }
    guard let record = core.livingRecords(where: { $0.record.id == handler }).first else { return false }
    if isLocked { return core.begin(.handler, of: record, holding) && core.isAlive(record) }
    _ = core.end(.handler, of: [record])
    return true
  }
}
