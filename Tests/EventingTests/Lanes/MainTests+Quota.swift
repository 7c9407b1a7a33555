import Dispatch
import Eventing
import Testing

// G14, G15: other blocks of the main queue run between long calls.
extension MainTests {
  @Test func longSynchronousCallsLetOtherBlocksIn() async {
    #expect(await Self.longestRun { event, body in event.addHandler(on: .main) { _ in body() } } <= 8)
  }

  @Test func longCallsOnTheMainQueueAsAQueueLetOtherBlocksIn() async {
    #expect(await Self.longestRun { event, body in event.addHandler(on: .queue(.main)) { _ in body() } } <= 8)
  }

  @Test func longAsynchronousCallsLetOtherBlocksIn() async {
    #expect(await Self.longestRun { event, body in event.addHandler(on: .main) { _ async in body() } } <= 8)
  }

  /// Makes 200 calls of 1 ms each on the main queue.
  ///
  /// - Returns: The highest number of calls between two other blocks.
  private static func longestRun(_ add: (Event<Int>, @escaping @Sendable () -> Void) -> Void) async -> Int {
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
    return zip(marks.values, marks.values.dropFirst()).map { $1 - $0 }.max() ?? 200
  }
}
