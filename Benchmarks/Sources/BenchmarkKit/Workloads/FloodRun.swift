import CMeasure

/// One peer in the workload `flood`.
///
/// Each thread posts in chunks with the payloads 1 to 16. So a handler's sum shows how many posts
/// it has received.
///
/// The posting threads measure the length of the queue themselves, every 256 posts, because they
/// are running when the queue is longest. Each thread counts a chunk before it posts the chunk, so
/// the measured queue is too long by at most a chunk for each thread. A measurement reads the
/// number of posts, then the number of deliveries. If its thread is preempted in between, the
/// measured queue is too short.
struct FloodRun {
  struct Figures {
    var nanosecondsPerPost: Double
    /// The peak number of posts that were made and not delivered.
    var peak: Int
    /// The longest isolated call, in milliseconds; nil if the peer has no such call.
    var worstCall: Double?
    var failure: String?
  }
  private static let chunk = 16
  private static let chunkSum = payloadSum(first: 1, count: chunk)
  private static let chunksBetweenLooks = 16

  let peer: Peer
  let rig: Rig
  let post: @Sendable (Batch) -> Void
  let block: CellBlock
  let handlers: Int
  let threads: Int
  let posts: Int

  private var chunksPerThread: Int { posts / threads / Self.chunk }
  /// The number of posts that all threads make together: `posts`, rounded down so that each thread
  /// posts whole chunks of 16.
  var rounded: Int { chunksPerThread * Self.chunk * threads }

  /// Runs a round, and checks that every handler received every post once.
  func run() async -> Figures {
    block.reset()
    let made = PaddedCounters(threads), peaks = PaddedCounters(threads)
    let caller = rig.isolatedCall.map { call in Task { await Self.callEveryMillisecond(call, expecting: handlers) } }
    let start = cm_now()
    await onOwnThread { _ = runThreads(threads) { flood(as: $0, made, peaks) } }
    wait(seconds: 60) { mismatch() == nil }
    let nanoseconds = Double(cm_now() - start)
    caller?.cancel()
    let calls = await caller?.value
    var outcome = Figures(
      nanosecondsPerPost: nanoseconds / Double(rounded), peak: (0..<threads).map { peaks[$0] }.max() ?? 0)
    outcome.worstCall = calls?.worst
    outcome.failure = mismatch()
    if calls?.isRight == false { outcome.failure = "an isolated call did not find \(handlers) handlers" }
    return outcome
  }

  /// Returns a description of the first handler that did not receive every post once, or nil.
  private func mismatch() -> String? {
    let chunks = (0..<threads).map { payloadSum(first: payload(sender: $0, sequence: 1), count: Self.chunk) }
    return block.mismatch(columns: handlers, expected: chunks.map { $0 &* chunksPerThread })
  }

  private func flood(as thread: Int, _ made: PaddedCounters, _ peaks: PaddedCounters) {
    let batch = Batch(cell: block.passing, first: payload(sender: thread, sequence: 1), count: Self.chunk)
    var peak = 0
    for index in 0..<chunksPerThread {
      made.set(thread, (index + 1) * Self.chunk)
      post(batch)
      if index % Self.chunksBetweenLooks == 0 {
        let sent = made.sum
        peak = max(peak, sent - delivered())
      }
    }
    peaks.set(thread, peak)
  }

  /// Returns the number of posts that the last handler received.
  ///
  /// The number is exact when the handler has received whole chunks only (16 posts of one thread,
  /// with the payloads 1 to 16). Within a chunk it is off by a few posts, because it is computed
  /// from the sum of the payloads.
  private func delivered() -> Int {
    (0..<threads).reduce(0) { posts, thread in
      let sequences = block.value(row: thread, column: handlers - 1) & ((1 << senderShift) - 1)
      return posts + sequences * Self.chunk / Self.chunkSum
    }
  }

  /// Awaits an isolated call every millisecond, until the task is cancelled.
  ///
  /// - Returns: The longest call in milliseconds, and whether each call returned `handlers`.
  private static func callEveryMillisecond(
    _ call: @Sendable () async -> Int, expecting handlers: Int
  ) async -> (worst: Double, isRight: Bool) {
    var worst = 0, isRight = true
    while !Task.isCancelled {
      let start = cm_now()
      if await call() != handlers { isRight = false }
      worst = max(worst, cm_now() - start)
      try? await Task.sleep(for: .milliseconds(1))
    }
    return (Double(worst) / 1e6, isRight)
  }
}
