import Synchronization

/// The handlers of one key.
// Safe: each field says what guards it.
@usableFromInline package final class KeyTable: @unchecked Sendable {
  /// The key: a ``KeyBox``. Never released under a mutex, because its `deinit` is the user's code.
  let key: AnyKeyBox
  /// The handlers. Walked by the thread inside the core, or under `core.mutex`. Changed by the
  /// thread inside, under the mutex.
  @exclusivity(unchecked) var table = PriorityTable()
  /// The number of occurrences for this key since the table was created. Changed only inside the
  /// core; read by any thread.
  let offered = Atomic<UInt64>(0)
  /// The epoch for posts to this key: the fast path is open only while ``EventAnchor/changes`` has
  /// this value. A walk over all handlers of an occurrence stores here the value that `changes` had
  /// before the walk. If one of them needs the slow path for posts, the walk stores 0 instead.
  /// `changes` is never 0, so 0 closes the fast path. Isolation: core.
  @exclusivity(unchecked) var fastPathEpoch: UInt64 = 0

  // The next three fields are read by the thread inside the core, or under `core.mutex`. They are
  // changed by the thread inside, under the mutex.
  /// Whether the table is in the list of the ``KeyIndex``.
  @exclusivity(unchecked) var isLinked = false
  /// The next table in the list.
  @exclusivity(unchecked) var next: KeyTable?
  // Safe: a table is unlinked before it is released.
  /// The table before this one in the list.
  @exclusivity(unchecked) unowned(unsafe) var before: KeyTable?

  init(_ key: AnyKeyBox) { self.key = key }

  /// Counts an occurrence for this key. Isolation: core.
  @inline(__always) func countOffered() { offered.store(offered.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}

/// A ``KeyBox`` with its key type erased.
@usableFromInline package typealias AnyKeyBox = any AnyObject & Sendable

/// The key whose occurrences a handler receives.
@usableFromInline final class KeyBox<Key: Hashable & Sendable>: Sendable {
  let key: Key
  @usableFromInline init(_ key: Key) { self.key = key }

  /// Returns how a dead letter gets the payload with this key from a payload that a handler of the
  /// key received.
  @usableFromInline func letter<Payload: Sendable>(_ type: Payload.Type) -> LetterPayload {
    .made { [key] in OwnedPayload(KeyedPayload(key, $0.payload(Payload.self))) }
  }
}

/// A ``KeyBox`` of any key type. Its key can be read as `any Hashable`.
package protocol HashableKey: Sendable {
  var hashableKey: any Hashable & Sendable { get }
}

extension KeyBox: HashableKey {
  var hashableKey: any Hashable & Sendable { key }
}
