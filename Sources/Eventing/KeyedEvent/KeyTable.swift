import Synchronization

// Safe: each field says what guards it.
@usableFromInline package final class KeyTable: @unchecked Sendable {
  /// Never released under a mutex, because its `deinit` is user code.
  let key: AnyKeyBox
  /// Read inside the core or under `core.mutex`. Changed inside, under the mutex.
  @exclusivity(unchecked) var table = PriorityTable()
  /// Changed only inside the core.
  let offered = Atomic<UInt64>(0)
  /// The epoch of posts to this key: see ``EventAnchor/postFastPathEpoch``. Isolation: core.
  @exclusivity(unchecked) var fastPathEpoch: UInt64 = 0

  // Guarded like `table`.
  @exclusivity(unchecked) var isLinked = false
  @exclusivity(unchecked) var next: KeyTable?
  // Safe: a table is unlinked before it is released.
  @exclusivity(unchecked) unowned(unsafe) var before: KeyTable?

  init(_ key: AnyKeyBox) { self.key = key }

  /// Isolation: core.
  @inline(__always) func countOffered() { offered.store(offered.load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}

@usableFromInline package typealias AnyKeyBox = any AnyObject & Sendable

@usableFromInline final class KeyBox<Key: Hashable & Sendable>: Sendable {
  let key: Key
  @usableFromInline init(_ key: Key) { self.key = key }

  @usableFromInline func letter<Payload: Sendable>(_ type: Payload.Type) -> LetterPayload {
    .made { [key] in OwnedPayload(KeyedPayload(key, $0.payload(Payload.self))) }
  }
}

package protocol HashableKey: Sendable {
  var hashableKey: any Hashable & Sendable { get }
}

extension KeyBox: HashableKey {
  var hashableKey: any Hashable & Sendable { key }
}
