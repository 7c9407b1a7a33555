import Dispatch
import Foundation
import Synchronization

/// A list of entries in the order in which they were noted.
final class Log: Sendable {
  private let entries = Mutex<[Int]>([])
  var values: [Int] { entries.withLock { $0 } }
  func note(_ entry: Int) { entries.withLock { $0.append(entry) } }
}

/// A place for the closure that removes a handler, so that the handler can remove itself: the
/// closure exists only after the handler has been added.
final class Removal: Sendable {
  private let body = Mutex<(@Sendable () -> Void)?>(nil)
  func set(_ new: @escaping @Sendable () -> Void) { body.withLock { $0 = new } }
  func callAsFunction() { body.withLock { $0 }?() }
}

/// The checks. Libraries whose consumers are loops answer only those with `isForLoops`.
let checks: [Check] = [
  Check(name: "order10", title: "10 handlers are called in the order in which they were added", expected: "yes") {
    order(of: 10, $0)
  },
  Check(name: "order40", title: "40 handlers are called in the order in which they were added", expected: "yes") {
    order(of: 40, $0)
  },
  Check(name: "adding", title: "a handler added during a send waits for the next send", expected: "yes") { bus in
    let log = Log()
    _ = bus.add { number in
      guard number == 1 else { return }
      _ = bus.add { log.note($0) }
    }
    bus.send(1)
    let early = log.values
    bus.send(2)
    return early.isEmpty ? log.values == [2] ? "yes" : "it is never called" : "it is called at once"
  },
  Check(name: "removing", title: "a handler that an earlier handler removes is not called", expected: "yes") { bus in
    let (log, removal) = (Log(), Removal())
    _ = bus.add { _ in removal() }
    removal.set(bus.add { log.note($0) })
    bus.send(1)
    return log.values.isEmpty ? "yes" : "it is called once more"
  },
  Check(name: "mutual", title: "of two handlers that remove each other, one is called", expected: "yes") { bus in
    let (log, first, second) = (Log(), Removal(), Removal())
    first.set(
      bus.add { _ in
        log.note(1); second()
      })
    second.set(
      bus.add { _ in
        log.note(2); first()
      })
    bus.send(1)
    return log.values.count == 1 ? "yes" : "\(log.values.count) are called"
  },
  Check(name: "nested", title: "all handlers see 1, 2, 3 when a handler sends 2 and 3", expected: "yes") { bus in
    let log = Log()
    _ = bus.add { if $0 < 3 { bus.send($0 + 1) } }
    _ = bus.add { log.note($0) }
    bus.send(1)
    return log.values == [1, 2, 3] ? "yes" : "\(log.values.map(String.init).joined(separator: ", "))"
  },
  Check(name: "deep", title: "100,000 nested sends", expected: "yes") { bus in
    let log = Log()
    _ = bus.add { if $0 < 100_000 { bus.send($0 + 1) } else { log.note($0) } }
    bus.send(1)
    return log.values == [100_000] ? "yes" : "sends are lost"
  },
  Check(
    name: "late",
    title: "20,000 handlers removed while another thread sends: calls that began after the removal had returned",
    expected: "0 to 27"
  ) {
    late(20_000, $0)
  },
  Check(
    name: "once", title: "2,000 once handlers while two threads send: calls beyond the first", expected: "0"
  ) {
    once(2_000, $0)
  },
  Check(
    name: "async", title: "an asynchronous handler receives 10,000 values in order", expected: "yes", isForLoops: true,
    run: received),
  Check(
    name: "slow", title: "memory growth after 1,000,000 values to a blocked asynchronous handler", expected: "",
    isForLoops: true
  ) {
    await memory(bound: nil, $0)
  },
  Check(
    name: "bounded",
    title: "memory growth after 1,000,000 values to a blocked asynchronous handler with a bound of 64", expected: "",
    isForLoops: true
  ) {
    await memory(bound: 64, $0)
  },
  Check(
    name: "main", title: "a handler in a main-actor class is called on the main actor when another thread sends",
    expected: "yes", isForLoops: true
  ) { bus in
    let table = await Table()
    await bus.addInMainActorClass(table)
    _ = Thread.started { bus.send(1) }
    while await table.rows.isEmpty { try? await Task.sleep(for: .milliseconds(1)) }
    return await table.isOnMain ? "yes" : "on another thread"
  },
  Check(
    name: "locked",
    title: "a send under a lock returns while a consumer is cancelled whose cancellation handler takes that lock",
    expected: "yes", isForLoops: true, run: cancelled),
]

private func order(of count: Int, _ bus: any ComparedBus) -> String {
  let log = Log()
  for number in 0..<count { _ = bus.add { _ in log.note(number) } }
  bus.send(1)
  return log.values == Array(0..<count)
    ? "yes" : log.values.count == count ? "in another order" : "\(log.values.count) are called"
}

private func late(_ count: Int, _ bus: any ComparedBus) -> String {
  let (isOver, late) = (Flag(), Counter())
  let sending = Thread.started { while !isOver.isSet { bus.send(1) } }
  for _ in 0..<count {
    let isRemoved = Flag()
    let remove = bus.add { _ in if isRemoved.isSet { late.add() } }
    for _ in 0..<20 { breathe() }
    remove()
    isRemoved.set()
  }
  isOver.set()
  sending.wait()
  return "\(late.value)"
}

private func once(_ count: Int, _ bus: any ComparedBus) -> String {
  var excess = 0
  for _ in 0..<count {
    let calls = Counter()
    bus.addOnce { _ in calls.add() }
    let go = Flag()
    let senders = (0..<2).map { _ in
      Thread.started {
        while !go.isSet { breathe() }
        bus.send(1)
      }
    }
    go.set()
    for sender in senders { sender.wait() }
    excess += max(0, calls.value - 1)
  }
  return "\(excess)"
}

private func received(_ bus: any ComparedBus) async -> String {
  let (log, count) = (Log(), 10_000)
  guard await bus.addAsync(bound: nil, { log.note($0) }) else { return Check.notOffered }
  for number in 0..<count { bus.send(number) }
  var (last, idle) = (0, 0)
  while last < count, idle < 200 {
    try? await Task.sleep(for: .milliseconds(5))
    idle = log.values.count > last ? 0 : idle + 1
    last = log.values.count
  }
  let values = log.values
  return values == Array(0..<count) ? "yes" : values.count == count ? "in another order" : "receives \(values.count)"
}

/// Races a thread that sends under a lock with one that cancels, for 20 seconds, in rounds of 16 new
/// buses with a consumer each. The sender begins at one end of the row, the other at the other.
private func cancelled(_ bus: any ComparedBus) async -> String {
  let (lock, rounds) = (NSLock(), Counter())
  _ = Thread.started { stopIfStuck(rounds) }
  let end = ContinuousClock.now + .seconds(20)
  while ContinuousClock.now < end {
    let buses = (0..<16).map { _ in type(of: bus).init() }
    let begun = buses.map { _ in Flag() }
    let consumers = zip(buses, begun).map { bus, begun in
      Task.detached {
        await withTaskCancellationHandler {
          await bus.loop { _ in begun.set() }
        } onCancel: {
          lock.withLock {}
        }
      }
    }
    for (bus, begun) in zip(buses, begun) {
      while !begun.isSet {
        bus.send(0)
        await Task.yield()
      }
    }
    let sender = Task.detached { for bus in buses { lock.withLock { bus.send(1) } } }
    for consumer in consumers.reversed() { consumer.cancel() }
    await sender.value
    for consumer in consumers { await consumer.value }
    rounds.add()
  }
  return "yes"
}

/// Ends the process with the answer "hangs" if no round ends for five seconds.
private func stopIfStuck(_ rounds: Counter) {
  var last = -1
  while rounds.value > last {
    last = rounds.value
    Thread.sleep(forTimeInterval: 5)
  }
  print("hangs")
  exit(0)
}

private func memory(bound: Int?, _ bus: any ComparedBus) async -> String {
  let began = Flag()
  let body: @Sendable (Int) async -> Void = { _ in
    began.set()
    try? await Task.sleep(for: .seconds(60))
  }
  guard await bus.addAsync(bound: bound, body) else { return Check.notOffered }
  bus.send(0)
  while !began.isSet { try? await Task.sleep(for: .milliseconds(1)) }
  let before = residentBytes()
  for number in 1...1_000_000 { bus.send(number) }
  try? await Task.sleep(for: .milliseconds(500))
  let grown = Double(max(0, residentBytes() - before)) / 1e6
  return grown < 1 ? "under 1 MB" : "\(Int(grown.rounded())) MB"
}

// MARK: Support

final class Flag: Sendable {
  private let state = Atomic<Bool>(false)
  var isSet: Bool { state.load(ordering: .acquiring) }
  func set() { state.store(true, ordering: .releasing) }
}

final class Counter: Sendable {
  private let number = Atomic<Int>(0)
  var value: Int { number.load(ordering: .acquiring) }
  func add() { number.add(1, ordering: .acquiringAndReleasing) }
}

private func breathe() { _ = Atomic<Int>(0).load(ordering: .relaxed) }

extension Thread {
  /// Starts a thread, and returns a semaphore that is signalled when the thread ends.
  static func started(_ body: @escaping @Sendable () -> Void) -> DispatchSemaphore {
    let ended = DispatchSemaphore(value: 0)
    let thread = Thread {
      body()
      ended.signal()
    }
    thread.stackSize = 8 << 20
    thread.start()
    return ended
  }
}

/// Returns the resident memory of the process in bytes, from /proc; 0 on a system without /proc.
private func residentBytes() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
  return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * 4_096
}
