import Dispatch
import Eventing
import Synchronization

/// Does not keep the event alive.
final class RegisteredEvent: Sendable {
  let id: UInt64
  let identity: EventIdentity
  /// A time on the ``InspectionClock``.
  let joinedAt: UInt64
  /// Occurrences before the event joined the registry.
  let sequenceBefore: UInt64
  let anchor: EventAnchor
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
  var type: Any.Type { identity.payloadType }

  /// Plain, or of a ``KeyedEvent``, an ``Observed`` or a ``EventQuestion``.
  var kind: HandlerTable.Kind { RegisteredEvent.kinds[Int(kindWord.load(ordering: .relaxed))] }

  var wasEverHandled: Bool { hasHadHandler.load(ordering: .relaxed) }

  func note(_ kind: HandlerTable.Kind) { kindWord.store(RegisteredEvent.number(of: kind), ordering: .relaxed) }

  private static func number(of kind: HandlerTable.Kind) -> UInt8 { UInt8(kinds.firstIndex(of: kind) ?? 0) }

  /// Queues by the number of the event, each with the number of requests that are under way.
  private static let locks = Guarded<[UInt64: (queue: DispatchQueue, count: Int)]>([:])

  /// Requests for one event take effect in order, on a queue and not on the caller's thread,
  /// because an unlock may deliver what the lock held.
  ///
  /// - Parameters:
  ///   - handler: `nil` for the event itself.
  ///   - holding: Ignored by an unlock.
  ///   - done: Called on the queue: with false if the event or the handler does not exist.
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
