import Dispatch
import Eventing
import Testing

// Tests of guarantees G14 and G15: other blocks of the main queue run between long calls.
extension MainTests {
  @Test func longSynchronousCallsLetOtherBlocksIn() async {
    #expect(await Self.meanRun { event, body in event.addHandler(on: .main) { _ in body() } } <= 8)
  }

  @Test func longCallsOnTheMainQueueAsAQueueLetOtherBlocksIn() async {
    #expect(await Self.meanRun { event, body in event.addHandler(on: .queue(.main)) { _ in body() } } <= 8)
  }

  @Test func longAsynchronousCallsLetOtherBlocksIn() async {
    #expect(await Self.meanRun { event, body in event.addHandler(on: .main) { _ async in body() } } <= 8)
  }

  /// Posts 200 times to a handler that runs for 1 ms on the main queue. Meanwhile a block on the
  /// main queue enqueues itself again each time it runs.
  ///
  /// The handler's lane gives way to other blocks after 4 ms, which it measures with the system's
  /// coarse clock on Linux (see `DrainQuota`). A hypervisor may take away the processor that
  /// advances this clock. Meanwhile the clock stands still, and the lane makes more calls in a row.
  /// So the highest number of calls would depend on the machine, and the mean is returned.
  ///
  /// - Parameter add: A closure that adds a handler to the given event. The handler must call the
  ///   given closure.
  /// - Returns: The mean number of calls of the handler between two runs of the block.
  private static func meanRun(_ add: (Event<Int>, @escaping @Sendable () -> Void) -> Void) async -> Int {
    let (event, calls, over) = (Event<Int>(), Counter(), Gate())
    add(event) {
      let end = ContinuousClock.now.advanced(by: .milliseconds(1))
      while ContinuousClock.now < end {}
      calls.add()
    }
    let marks = Recorder<Int>()
    @Sendable func mark() {
      marks.record(calls.value)
      if calls.value == 200 { over.open() } else { DispatchQueue.main.async(execute: mark) }
    }
    DispatchQueue.main.async {
      // All calls are enqueued before the first one begins.
      let posting = startThread { for number in 0..<200 { event.post(number) } }
      posting.wait()
      mark()
    }
    await over.opened()
    return 200 / max(1, Set(marks.values).count - 1)
  }
}
