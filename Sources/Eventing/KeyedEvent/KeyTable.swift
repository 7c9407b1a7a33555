/// The handlers of one key, or of no key.
// Safe: guarded as the core's own table. The links are guarded as ``KeyIndex`` says.
@usableFromInline final class KeyTable: @unchecked Sendable {
  /// The key: a ``KeyBox``. The user's, so it is never released under a mutex.
  let key: AnyKeyBox
  /// Walked by the thread inside the core, or under `core.mutex`. Changed by the thread inside, and
  /// under the mutex.
  @usableFromInline @exclusivity(unchecked) var table = HandlerTable()
  /// The number of occurrences for this key since the table was made. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var offered: UInt64 = 0
  /// The epoch of the last delivery in which neither a handler of this key nor one of all keys
  /// needed the slow path. Isolation: core.
  @usableFromInline @exclusivity(unchecked) var fastPathEpoch: UInt64 = 0
  @exclusivity(unchecked) var isLinked = false
  @exclusivity(unchecked) var next: KeyTable?
  // Safe: a table is unlinked before it goes.
  @exclusivity(unchecked) unowned(unsafe) var before: KeyTable?

  init(_ key: AnyKeyBox) { self.key = key }
}

/// The key that a handler listens to, with its type erased: a ``KeyBox``.
@usableFromInline typealias AnyKeyBox = any AnyObject & Sendable

/// The key that a handler listens to. `nil` stands for occurrences that are sent to no key.
@usableFromInline final class KeyBox<Key: Hashable & Sendable>: Sendable {
  @usableFromInline let key: Key?
  @usableFromInline init(_ key: Key?) { self.key = key }
}
