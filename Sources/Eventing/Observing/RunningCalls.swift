import Synchronization

/// The calls of observed events that run now, in the whole process.
///
/// A call is added when its observers are told of its beginning, and removed when they are told of
/// its end. Calls of events without observers are not here, and cost nothing.
package enum RunningCalls {
  package struct Call: Sendable {
    /// A number that no other call has.
    package let number: UInt64
    package let handler: HandlerToken
    let observed: ObservedOccurrence
    let start: StableInstant
    /// The lane that runs the call; `nil` for an inline handler.
    let lane: DeliveryTarget?
    /// The execution slot of an asynchronous call.
    let executionSlot: ExecutionSlot?

    package var event: EventIdentity { observed.observers.event }
    /// The time since the call began.
    package var duration: Duration { StableInstant.now.since(start) }
    package var laneLoad: LaneLoad? { lane.map { LaneLoad($0) } }

    /// Returns whether an observer of the event satisfies a condition.
    package func isObserved(where isWanted: (any EventObserver) -> Bool) -> Bool {
      observed.observers.contains(where: isWanted)
    }
  }

  /// The place of a call, by which the call is removed.
  struct Location: Sendable {
    fileprivate let shard: Int
    /// The number of the call in the shard; 0 if the call has a place by another payload.
    fileprivate let number: UInt64

    /// The place of a batch's call for all its payloads but one, by which the call has its place.
    static var shared: Location { Location(shard: 0, number: 0) }
    /// Whether the call has a place by another payload of the batch.
    var isShared: Bool { number == 0 }
  }

  /// The calls of some handlers. Each method takes O(1), amortized.
  private struct Shard {
    /// A call, and the numbers of the calls of the same handler that began directly before and
    /// after it; 0 for none.
    struct Entry {
      let call: Call
      var before: UInt64
      var after: UInt64 = 0
    }

    /// The calls by their numbers.
    var calls: [UInt64: Entry] = [:]
    /// The numbers of the first and the last running call of each handler, by the handler's id.
    var ends: [UInt64: (first: UInt64, last: UInt64)] = [:]
    var lastNumber: UInt64 = 0

    mutating func insert(_ makeCall: (_ number: UInt64) -> Call) -> UInt64 {
      lastNumber += 1
      let (number, call) = (lastNumber, makeCall(lastNumber))
      let id = call.handler.id
      let before = ends[id]?.last ?? 0
      calls[number] = Entry(call: call, before: before)
      if before == 0 {
        ends[id] = (number, number)
      } else {
        ends[id]?.last = number
        calls[before]?.after = number
      }
      return number
    }

    mutating func take(_ number: UInt64) -> Call? {
      guard let entry = calls.removeValue(forKey: number) else { return nil }
      let id = entry.call.handler.id
      if entry.before == 0 { ends[id]?.first = entry.after } else { calls[entry.before]?.after = entry.after }
      if entry.after == 0 { ends[id]?.last = entry.before } else { calls[entry.after]?.before = entry.before }
      if entry.before == 0, entry.after == 0 { ends[id] = nil }
      giveBackMemory()
      return entry.call
    }

    /// Makes the tables smaller after a burst, even if some calls still run.
    private mutating func giveBackMemory() {
      if calls.capacity > 256, calls.count < calls.capacity / 8 { calls = calls.shrunk() }
      if ends.capacity > 256, ends.count < ends.capacity / 8 { ends = ends.shrunk() }
    }
  }

  /// All calls of one handler are in one shard, so that a snapshot reads one shard only. There are
  /// several shards, so that lanes of different handlers seldom contend.
  private static let shards = (0..<16).map { _ in Guarded(Shard()) }

  @inline(never) static func begin(
    _ handler: HandlerToken, _ observed: ObservedOccurrence, _ start: StableInstant, on lane: DeliveryTarget?
  ) -> Location {
    let shard = index(of: handler.record)
    let executionSlot = lane == nil ? nil : Context.invocation.get()?.executionSlot
    let number = shards[shard].withLock { calls in
      calls.insert { number in
        Call(
          number: number &* UInt64(shards.count) &+ UInt64(shard), handler: handler, observed: observed, start: start,
          lane: lane, executionSlot: executionSlot)
      }
    }
    return Location(shard: shard, number: number)
  }

  static func end(_ place: Location) {
    if place.isShared { return }
    let gone = shards[place.shard].withLock { $0.take(place.number) }
    withExtendedLifetime(gone) {}  // released after the mutex
  }

  /// All running calls of observed events, the longest first.
  package static var all: [Call] {
    shards.flatMap { $0.withLock { $0.calls.values.map(\.call) } }
      .sortedUnspecialized { ($0.start.sinceOrigin, $0.number) < ($1.start.sinceOrigin, $1.number) }
  }

  /// Returns when the oldest running call of a handler began; `nil` if no call runs.
  ///
  /// - Complexity: O(1), whatever calls of other handlers run.
  static func oldestStart(of record: HandlerRecord) -> StableInstant? {
    shards[index(of: record)].withLock { shard in
      guard let first = shard.ends[record.id]?.first else { return nil }
      return shard.calls[first]?.call.start
    }
  }

  /// The number of calls for which the tables have room.
  static var capacity: Int { shards.reduce(0) { sum, shard in sum + shard.withLock { $0.calls.capacity } } }

  private static func index(of record: HandlerRecord) -> Int { Int(record.id % UInt64(shards.count)) }
}

extension Dictionary {
  /// Returns the same entries in a table with room for twice their number.
  fileprivate func shrunk() -> Self {
    var smaller = Self(minimumCapacity: 2 * count)
    for (key, value) in self { smaller[key] = value }
    return smaller
  }
}
