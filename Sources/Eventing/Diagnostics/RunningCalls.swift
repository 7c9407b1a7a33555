import Synchronization

/// The calls of observed events that run now, in the whole process.
///
/// A call is added when its observers are told of its beginning, and removed when they are told of
/// its end. Calls of events without observers are not here, and cost nothing.
enum RunningCalls {
  struct Call: Sendable {
    /// A number that no other call has.
    let number: UInt64
    let handler: HandlerToken
    let observed: ObservedOccurrence
    let start: StableInstant
    /// The lane that runs the call; `nil` for an inline handler.
    let lane: DeliveryTarget?
    /// The execution slot of an asynchronous call.
    let executionSlot: ExecutionSlot?
  }

  /// The place of a call, by which the call is removed.
  struct Location: Sendable {
    fileprivate let shard: Int
    fileprivate let index: Int
  }

  /// The calls of some handlers. The places of calls that have ended are free.
  private struct Shard {
    var calls: [Call?] = []
    var free: [Int] = []
    var count: UInt64 = 0

    mutating func insert(_ call: (_ number: UInt64) -> Call) -> Int {
      count += 1
      let index = free.popLast() ?? calls.count
      if index == calls.count { calls.append(nil) }
      calls[index] = call(count)
      return index
    }

    mutating func take(_ index: Int) -> Call? {
      let call = calls[index]
      calls[index] = nil
      free.append(index)
      if calls.count > 64, free.count == calls.count { (calls, free) = ([], []) }  // gives back the memory of a burst
      return call
    }
  }

  /// All calls of one handler are in one shard, so that a snapshot reads one shard only. There are
  /// several shards, so that lanes of different handlers seldom contend.
  private static let shards = (0..<16).map { _ in Guarded(Shard()) }

  static func begin(
    _ handler: HandlerToken, _ observed: ObservedOccurrence, _ start: StableInstant, on lane: DeliveryTarget?
  ) -> Location {
    let shard = index(of: handler.record)
    let executionSlot = lane == nil ? nil : Context.invocation.get()?.executionSlot
    let index = shards[shard].withLock { calls in
      calls.insert { count in
        Call(
          number: count &* UInt64(shards.count) &+ UInt64(shard), handler: handler, observed: observed, start: start,
          lane: lane, executionSlot: executionSlot)
      }
    }
    return Location(shard: shard, index: index)
  }

  static func end(_ place: Location) {
    let gone = shards[place.shard].withLock { $0.take(place.index) }
    withExtendedLifetime(gone) {}  // released after the mutex
  }

  /// All running calls of observed events.
  static var all: [Call] { shards.flatMap { $0.withLock { $0.calls.compactMap { $0 } } } }

  /// Returns when the oldest running call of a handler began; `nil` if no call runs.
  static func oldestStart(of record: HandlerRecord) -> StableInstant? {
    let starts = shards[index(of: record)].withLock { shard in
      shard.calls.compactMap { $0.flatMap { $0.handler.record === record ? $0.start : nil } }
    }
    return starts.min { $0.sinceOrigin < $1.sinceOrigin }
  }

  private static func index(of record: HandlerRecord) -> Int { Int(record.id % UInt64(shards.count)) }
}
