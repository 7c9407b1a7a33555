import BenchmarkKit
import Dispatch
import Synchronization

/// Returns two peers of the kind `limit`, which run a closure without an event. Their times are
/// lower bounds for deliveries to handlers that do not run on the sending thread.
func laneLimits() -> [Peer] {
  let dispatch = Peer("dispatch", "Dispatch and tasks", .limit, mechanism: "a block or a task for each occurrence")
  let mailbox = Peer(
    "batching-mailbox", "LIMIT batching mailbox", .limit, mechanism: "a buffer that its consumer takes out whole")
  return [
    dispatch.with {
      $0.routes = [
        Route("DispatchQueue.async") { handler in
          let queue = DispatchQueue(label: "benchmark")
          return Route.Live(send: .sync { batch in for value in batch.values { queue.async { handler(value) } } })
        },
        Route("a task each", isConcurrent: true) { handler in
          Route.Live(send: .sync { batch in for value in batch.values { Task.detached { handler(value) } } })
        },
      ]
    },
    mailbox.with {
      $0.routes = [
        Route("for await") { handler in
          let mailbox = BatchingMailbox()
          let consumer = Task.detached { for await value in mailbox { handler(value) } }
          return Route.Live(
            send: .sync { batch in for value in batch.values { mailbox.send(value) } },
            close: {
              mailbox.finish()
              await consumer.value
            })
        }
      ]
    },
  ]
}

/// A sequence with a buffer. Its consumer suspends only if the buffer is empty. The time of a
/// delivery through this sequence is a lower bound for asynchronous sequences of payloads.
final class BatchingMailbox: AsyncSequence, Sendable {
  private struct State {
    var buffer: [Int] = []
    var waiter: UnsafeContinuation<Void, Never>?
    var isFinished = false
  }
  private let state = Mutex(State())

  @inline(never) func send(_ value: Int) { change { $0.buffer.append(value) } }
  func finish() { change { $0.isFinished = true } }

  private func change(_ body: (inout sending State) -> Void) {
    let waiter = state.withLock { state in
      body(&state)
      return state.waiter.take()
    }
    waiter?.resume()
  }

  /// Suspends until the buffer is not empty or the mailbox is finished, and takes the whole buffer.
  ///
  /// - Returns: False if the mailbox is finished and empty.
  private func take(_ batch: inout [Int]) async -> Bool {
    while true {
      let (taken, isFinished) = state.withLock { state in
        let taken = state.buffer
        state.buffer = []
        return (taken, state.isFinished)
      }
      batch = taken
      if !batch.isEmpty { return true }
      if isFinished { return false }
      await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        let isReady = state.withLock { state in
          if !state.buffer.isEmpty || state.isFinished { return true }
          state.waiter = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    }
  }

  /// Iterates over one taken buffer after the other.
  struct Iterator: AsyncIteratorProtocol {
    let mailbox: BatchingMailbox
    private var batch: [Int] = []
    private var index = 0

    init(_ mailbox: BatchingMailbox) { self.mailbox = mailbox }

    mutating func next() async -> Int? { await next(isolation: nil) }
    mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
      if index == batch.count {
        index = 0
        guard await mailbox.take(&batch) else { return nil }
      }
      defer { index += 1 }
      return batch[index]
    }
  }
  func makeAsyncIterator() -> Iterator { Iterator(self) }
}
