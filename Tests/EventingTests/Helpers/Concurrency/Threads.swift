#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif
import Synchronization

// Threads outside of any pool. The thread sanitizer sees their races. Unlike tasks, they may block.

/// Returns a gate that opens when `body` has returned.
@discardableResult func startThread(stack: Int? = nil, _ body: @escaping @Sendable () -> Void) -> Gate {
  let ended = Gate()
  let start = ThreadStart {
    body()
    ended.open()
  }
  let context = unsafe Unmanaged.passRetained(start).toOpaque()
  unsafe withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) { buffer in
    guard let attributes = buffer.baseAddress else { return }
    unsafe pthread_attr_init(attributes)
    if let stack { unsafe pthread_attr_setstacksize(attributes, stack) }
    unsafe create(attributes, context)
    unsafe pthread_attr_destroy(attributes)
  }
  return ended
}

private func create(_ attributes: UnsafePointer<pthread_attr_t>, _ context: UnsafeMutableRawPointer) {
  #if canImport(Darwin)
    var thread: pthread_t?
    let code = unsafe pthread_create(&thread, attributes, { unsafe runThread($0) }, context)
    guard code == 0, let thread = unsafe thread else { fatalError("no thread") }
    unsafe pthread_detach(thread)
  #else
    var thread = pthread_t()
    let code = unsafe pthread_create(&thread, attributes, { unsafe runThread($0) }, context)
    precondition(code == 0, "no thread")
    pthread_detach(thread)
  #endif
}

/// On a thread of Swift's pool, long work would delay the other tests.
@discardableResult func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  let result = ConditionLock<Result?>(nil)
  await startThread {
    let value = body()
    result.withLock { $0 = value }
  }.opened()
  return result.withLock { $0! }
}

/// The threads begin together. In debug builds they yield at random sync points.
func onThreads(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) async {
  let barrier = StartBarrier(count)
  let ended = (0..<count).map { index in
    startThread {
      barrier.arrive()
      #if DEBUG
        SyncPoints.stumble(UInt64(index)) { body(index) }
      #else
        body(index)
      #endif
    }
  }
  for gate in ended { await gate.opened() }
}

/// Ends after a minute at the latest. A fixed number of rounds would prove nothing: on two cores
/// the threads may run one after the other. Two races at once would overlap even less, so only one
/// runs at a time.
func onThreads(
  _ count: Int, until isEnough: @escaping @Sendable () -> Bool,
  _ body: @escaping @Sendable (_ index: Int, _ round: Int) -> Void
) async {
  await raceTurns.take()
  defer { raceTurns.pass() }
  let isOver = Atomic<Bool>(false)
  let deadline = ContinuousClock.now.advanced(by: .seconds(60))
  await onThreads(count) { index in
    var round = 0
    repeat {
      body(index, round)
      round += 1
      if index == 0, round % 64 == 0, isEnough() || ContinuousClock.now > deadline {
        isOver.store(true, ordering: .relaxed)
      }
    } while !isOver.load(ordering: .relaxed)
  }
}

/// In each round the first thread calls `prepare`, then all call `body` together. Ends after a
/// minute at the latest.
func inRounds<Stage: Sendable>(
  _ count: Int, least: Int = 1_000, until isEnough: @escaping @Sendable () -> Bool,
  prepare: @escaping @Sendable () -> Stage, _ body: @escaping @Sendable (_ index: Int, Stage) -> Void
) async {
  await raceTurns.take()
  defer { raceTurns.pass() }
  let barrier = StartBarrier(count)
  let current = ConditionLock<Stage?>(nil)
  let deadline = ContinuousClock.now.advanced(by: .seconds(60))
  await onThreads(count) { index in
    var round = 0
    while true {
      if index == 0 {
        let isOver = (round >= least && isEnough()) || ContinuousClock.now > deadline
        current.withLock { $0 = isOver ? nil : prepare() }
      }
      barrier.arrive()
      guard let stage = current.withLock({ $0 }) else { return }
      body(index, stage)
      round += 1
      barrier.arrive()
    }
  }
}

func giveWay() { sched_yield() }

/// To measure how long a sleep takes; no test waits for a change this way.
func nap(microseconds: UInt32) { usleep(microseconds) }

/// Reusable.
final class StartBarrier: Sendable {
  private let count: Int
  private let arrived = Atomic<Int>(0)

  init(_ count: Int) { self.count = count }

  func arrive() {
    let mine = arrived.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
    let all = (mine / count + 1) * count
    var round = 0
    while arrived.load(ordering: .acquiring) < all {
      round += 1
      if round > 200 { giveWay() }  // at first no yield: this thread goes on as soon as the last thread arrives
    }
  }
}

/// Counts operations that began while another one was running. The counters order no memory, so
/// they hide no race from the thread sanitizer.
final class Overlaps: Sendable {
  private let running = Atomic<Int>(0)
  private let begun = Atomic<Int>(0)
  private let seen = Atomic<Int>(0)

  init() {}

  var count: Int { seen.load(ordering: .relaxed) }

  private let firstLook = ConditionLock<ContinuousClock.Instant?>(nil)

  /// On cores that are busy with other tests, a fifth must do ten seconds after the first call.
  func suffice(_ wanted: Int) -> Bool {
    let begin = firstLook.withLock { first in
      first = first ?? .now
      return first ?? .now
    }
    return count > (begin.duration(to: .now) < .seconds(10) ? wanted : wanted / 5)
  }

  /// Every fourth call that finds no other one running waits for one, for at most 64 yields, so
  /// that threads overlap even on busy cores.
  func during<Result>(_ body: () throws -> Result) rethrows -> Result {
    let others = running.wrappingAdd(1, ordering: .relaxed).oldValue
    defer { running.wrappingSubtract(1, ordering: .relaxed) }
    if others == 0, begun.wrappingAdd(1, ordering: .relaxed).oldValue % 4 == 0 {
      var patience = 64
      while running.load(ordering: .relaxed) == 1, patience > 0 {
        giveWay()
        patience -= 1
      }
    }
    if running.load(ordering: .relaxed) > 1 { seen.wrappingAdd(1, ordering: .relaxed) }
    return try body()
  }
}

/// Never reused, unlike the identity of a thread.
struct ThreadNumber: Hashable, Sendable {
  private let number: Int

  static var current: ThreadNumber {
    if let number = unsafe pthread_getspecific(key) { return ThreadNumber(number: Int(bitPattern: number)) }
    let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
    unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: number))
    return ThreadNumber(number: number)
  }

  private static let next = Atomic<Int>(1)
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    unsafe pthread_key_create(&key, nil)
    return key
  }()
}

private final class ThreadStart: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  unsafe Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue().body()
  return nil
}
