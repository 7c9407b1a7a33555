import AsyncAlgorithms
import BenchmarkKit
import Synchronization

/// Returns `share()` of swift-async-algorithms as a peer, which is an entry of the comparison: one
/// stream with many consumers.
func sharedSequencePeers() -> [Peer] {
  let shared = Peer(
    "share", "AsyncStream.share()", .peer,
    mechanism: "a task pulls the stream; each consumer has a position in one buffer, under one lock"
  ) {
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    let sequence = stream.share(bufferingPolicy: .unbounded), consumers = Consumers()
    return Rig(
      add: { cells in for cell in cells { await consumers.start(sequence) { cell.hit($0) } } },
      send: .sync { batch in for value in batch.values { continuation.yield(value) } },
      addRemove: .async { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          let consumer = await Consumers.started(sequence) { cell.hit($0) }
          consumer.cancel()
          await consumer.value
        }
      },
      close: {
        continuation.finish()
        consumers.cancel()
      })
  }
  return [
    shared.with {
      $0.returnsEarly = true
      $0.sendCap = 3_000
      // This peer does not run the workload `flood`. The workload would take minutes, because the
      // cost of an item grows with the backlog.
      $0.workloads = Set(Workload.allCases).subtracting([.flood])
      $0.routes = [
        Route("for await share()", standsBacklog: false) { handler in
          let (stream, continuation) = AsyncStream<Int>.makeStream(), consumers = Consumers()
          await consumers.start(stream.share(bufferingPolicy: .unbounded), handler)
          return Route.Live(
            send: .sync { batch in for value in batch.values { continuation.yield(value) } },
            close: {
              continuation.finish()
              consumers.cancel()
            })
        }
      ]
    }
  ]
}

/// The tasks that consume a sequence.
private final class Consumers: Sendable {
  private let tasks = Mutex<[Task<Void, Never>]>([])

  func start<Values: AsyncSequence & Sendable>(_ values: Values, _ body: @escaping Body) async
  where Values.Element == Int {
    let task = await Self.started(values, body)
    tasks.withLock { $0.append(task) }
  }

  func cancel() {
    for task in tasks.withLock({ $0 }) { task.cancel() }
  }

  /// Starts a consumer and returns once its iterator exists.
  ///
  /// An iterator does not receive values that were sent before it existed.
  static func started<Values: AsyncSequence & Sendable>(
    _ values: Values, _ body: @escaping Body
  ) async -> Task<Void, Never> where Values.Element == Int {
    let ready = AsyncStream<Void>.makeStream()
    let task = Task.detached {
      var iterator = values.makeAsyncIterator()
      ready.continuation.finish()
      while let value = try? await iterator.next() { body(value) }
    }
    for await _ in ready.stream {}
    return task
  }
}
