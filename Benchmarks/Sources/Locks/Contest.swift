import CMeasure

/// Four words behind a lock.
// Safe: the words are guarded by `lock`.
private final class Guarded<Lock: MeasuredLock & ~Copyable>: @unchecked Sendable {
  private let lock = Lock()
  private let words = UnsafeMutablePointer<Int>.allocate(capacity: 4)

  init() {
    for index in 0..<4 { words[index] = index }
    _ = cm_sum(words, 4)  // passes the address out, so that the compiler must perform each access
  }
  deinit { words.deallocate() }

  /// The critical section: four loads and three stores.
  @inline(__always) func step() {
    lock.locked {
      words[0] &+= words[3]
      words[1] ^= words[0]
      words[2] &+= words[1]
    }
  }
}

/// The figures of one measurement of a lock. The locks are measured in rotation, one measurement
/// each, so that other load on the machine affects all alike.
struct Turn {
  /// The nanoseconds of one pair of lock and unlock.
  var uncontended = 0.0
  /// The pairs per second of all threads together, with two and with four threads.
  var pairsOfTwo = 0.0, pairsOfFour = 0.0
  /// The nanoseconds that a pair of lock and unlock took on the second of two threads: 99th
  /// percentile, maximum.
  var wait99 = 0.0, waitMost = 0.0
  /// The share of one core that other processes took during the measurement.
  var noise = 0.0
}

/// The measurements of a lock, specialised for its type.
struct Contest: Sendable {
  /// The name in the table.
  let title: String
  /// Locks and unlocks a number of times, on one thread.
  let repeatAlone: @Sendable (Int) -> Void
  /// Makes one measurement of the lock, and returns its figures: the time of a pair of lock and
  /// unlock on one thread, the number of such pairs per second on two and on four threads, and how
  /// long the second of two threads waits for the lock.
  let measure: @Sendable (_ seconds: Double) -> Turn

  init<Lock: MeasuredLock & ~Copyable>(_: Lock.Type) {
    title = Lock.title
    repeatAlone = { count in
      let guarded = Guarded<Lock>()
      for _ in 0..<count { guarded.step() }
    }
    measure = { seconds in
      var turn = Turn()
      turn.uncontended = Self.alone(Guarded<Lock>(), seconds)
      turn.pairsOfTwo = Self.together(Guarded<Lock>(), 2, seconds)
      turn.pairsOfFour = Self.together(Guarded<Lock>(), 4, seconds)
      (turn.wait99, turn.waitMost) = Self.waits(Guarded<Lock>(), seconds)
      return turn
    }
  }

  /// Returns the nanoseconds that one lock and its unlock take, in the fastest of many uncontended
  /// batches of such pairs.
  private static func alone<Lock: ~Copyable>(_ guarded: Guarded<Lock>, _ seconds: Double) -> Double {
    let batch = 100_000
    var best = Double.infinity
    let end = cm_now() + Int(seconds * 1e9 / 4)
    repeat {
      let start = cm_now()
      for _ in 0..<batch { guarded.step() }
      best = min(best, Double(cm_now() - start) / Double(batch))
    } while cm_now() < end
    return best
  }

  /// Returns the number of pairs of lock and unlock per second, over all threads together.
  ///
  /// Each thread does about 20 ns of other work between two critical sections.
  private static func together<Lock: ~Copyable>(_ guarded: Guarded<Lock>, _ threads: Int, _ seconds: Double) -> Double {
    // The counter of each thread has two cache lines of its own.
    let counts = UnsafeMutableBufferPointer<Int>.allocate(capacity: threads * 16)
    counts.initialize(repeating: 0)
    defer { counts.deallocate() }
    nonisolated(unsafe) let cells = counts  // Safe: each thread writes its own cache lines.
    let duration = Int(seconds * 1e9)
    let taken = onThreads(threads) { index in
      let end = cm_now() + duration
      var (count, noise) = (0, UInt64(index) + 1)
      repeat {
        for _ in 0..<64 {
          guarded.step()
          for _ in 0..<8 { noise = (noise ^ (noise << 13)) &* 0x9E37_79B9_7F4A_7C15 }
        }
        count += 64
      } while cm_now() < end
      cells[index * 16] = count
      cells[index * 16 + 1] = Int(truncatingIfNeeded: noise)
    }
    return Double((0..<threads).reduce(0) { $0 + counts[$1 * 16] }) / (Double(taken) / 1e9)
  }

  /// Measures how long each pair of lock and unlock takes on the second of two threads, while the
  /// first thread does nothing but lock and unlock.
  ///
  /// - Returns: The 99th percentile and the maximum, in nanoseconds.
  private static func waits<Lock: ~Copyable>(_ guarded: Guarded<Lock>, _ seconds: Double) -> (Double, Double) {
    nonisolated(unsafe) var samples: [Int] = []  // Safe: only the second thread appends, then it ends.
    samples.reserveCapacity(Int(seconds * 2e7))
    let duration = Int(seconds * 1e9)
    onThreads(2) { index in
      let end = cm_now() + duration
      if index == 0 {
        while cm_now() < end { for _ in 0..<64 { guarded.step() } }
      } else {
        var start = cm_now()
        while start < end, samples.count < samples.capacity {
          guarded.step()
          let now = cm_now()
          samples.append(now - start)
          start = cm_now()
        }
      }
    }
    samples.sort()
    return (Double(samples[samples.count * 99 / 100]), Double(samples[samples.count - 1]))
  }
}

/// Runs `body` on `count` threads that wait for each other and then begin together.
///
/// - Returns: The nanoseconds from the first start to the last end.
@discardableResult private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Int {
  final class Box {
    let body: @Sendable (Int) -> Void
    init(_ body: @escaping @Sendable (Int) -> Void) { self.body = body }
  }
  let box = Box(body)
  return withExtendedLifetime(box) {
    cm_run_threads(
      Int32(count), { context, index in Unmanaged<Box>.fromOpaque(context!).takeUnretainedValue().body(Int(index)) },
      Unmanaged.passUnretained(box).toOpaque())
  }
}
