import Dispatch
import Synchronization
import Testing

@testable import Eventing

extension LaneTests {
  /// A payload whose `deinit` calls a closure. The closure waits until another thread has read the
  /// `waitingCount` of the lane.
  private final class Slow: Sendable {
    private let onDeinit: @Sendable () -> Void
    init(_ onDeinit: @escaping @Sendable () -> Void) { self.onDeinit = onDeinit }
    deinit { onDeinit() }
  }

  /// Counts how often a thread has read `waitingCount`, and tells that thread to end.
  ///
  /// The atomics order no memory, so they hide no race from the thread sanitizer.
  private final class Looks: Sendable {
    let count = Atomic<Int>(0)
    let isOver = Atomic<Bool>(false)
  }

  @Test(arguments: [Buffering.unbounded, .newest(30)])
  func whatWaitsOnALaneIsCountedWhileAPausedHandlerIsRemoved(buffering: Buffering) async throws {
    let (event, queue, looks, left) = (Event<Slow>(), DispatchQueue(label: "test"), Looks(), Recorder<Int>())
    queue.suspend()
    let token = event.addHandler(.buffering(buffering), on: .queue(queue)) { _ in }
    let lane = try #require(token.record.details?.route?.target)
    let post: @Sendable () -> Void = {
      event.post(
        Slow {
          left.record(lane.waitingCount)
          let seen = looks.count.load(ordering: .relaxed)
          while looks.count.load(ordering: .relaxed) < seen + 2 { giveWay() }
        })
    }
    for _ in 1...5 { post() }
    event.lock(token, holding: .oldest(10))
    queue.resume()
    await startThread { queue.sync {} }.opened()  // the lane pauses
    #expect((lane as? LaneQueue)?.isPaused == true && lane.waitingCount == 5)
    let looking = startThread {
      while !looks.isOver.load(ordering: .relaxed) {
        let count = lane.waitingCount
        if !(0...5).contains(count) { Issue.record("expected 0 to 5 that wait, got \(count)") }
        looks.count.wrappingAdd(1, ordering: .relaxed)
      }
    }
    await startThread { event.remove(token) }.opened()
    looks.isOver.store(true, ordering: .relaxed)
    await looking.opened()
    // A bounded lane counts the calls in its queue. The removal takes the whole queue out before it
    // releases the first payload, so the `deinit` of each payload reads 0.
    if buffering != .unbounded { #expect(left.values == [0, 0, 0, 0, 0]) }
    #expect(lane.waitingCount == 0 && lane.skipped.load(ordering: .relaxed) == 5)
  }
}
