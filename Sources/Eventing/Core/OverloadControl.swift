import Dispatch
public import Synchronization

/// How an event under a flood slows those who post, without anybody waiting for anybody (G15).
///
/// A post that finds more than `limit` occurrences waiting is queued like any other and then naps for a fixed time. A drain never naps, or
/// a ring of events would crawl: when what its handlers post meets a flood elsewhere it marks its own event as pressed, and who posts there naps.
@usableFromInline enum OverloadControl {
  @inlinable static var limit: Int { 1_024 }
  /// The same for adds and removals. Fewer than occurrences: who is slowed by them is not who makes them, but the sends that wait behind. With 8,192 two senders beside two
  /// threads that change got a third done of what they get with 256, and the changes no more.
  @inlinable static var changeLimit: Int { 256 }
  /// So many changes of other threads are made by a thread that posts; then it hands the rest over, or it might never come back.
  @inlinable static var foreignChanges: Int { 256 }

  /// Of an event's own queue: the overload that its drain passes on.
  static let drained = DispatchSpecificKey<OverloadFlag>()

  @usableFromInline @inline(never) static func slowDown() {
    if let overload = DispatchQueue.getSpecific(key: drained) {
      overload.isOn.store(true, ordering: .relaxed)
    } else {
      Thread.nap(microseconds: 10)
    }
  }
}

/// Whether what an event's drain posts meets a flood elsewhere.
@usableFromInline final class OverloadFlag: Sendable {
  @usableFromInline let isOn = Atomic<Bool>(false)
  init() {}
}
