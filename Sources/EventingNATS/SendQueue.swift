#if NATS
  import Dispatch
  import Eventing
  import Foundation

  extension LibraryConnection {
    enum Sent {
      case sent
      /// libnats or the engine is connecting again.
      case away
      /// libnats has ended the connection.
      case late(within: Duration)
      case failed(String)
    }
  }

  /// One thread sends. A frozen server may block it for seconds, so it isn't one of Swift's pool.
  final class SendQueue: Sendable {
    private struct State: Sendable {
      var items: [Outgoing] = []
      var isLost = false
      var hasFailed = false
      var isPaused: Bool { isLost || hasFailed }
      var isClosed = false
      var isAsleep = false
      var isSending = false
    }

    private let state = Guarded(State())
    private let signal = DispatchSemaphore(value: 0)
    private let write: @Sendable (Outgoing) -> LibraryConnection.Sent

    /// Each try blocks all other messages, and ends the connection. A server that was frozen takes
    /// the message on the next connection.
    static let mostLateWrites = 3

    /// - Parameters:
    ///   - write: May block.
    ///   - ended: Called after the close, when each message was sent or dropped.
    init(
      _ write: @escaping @Sendable (Outgoing) -> LibraryConnection.Sent, ended: @escaping @Sendable () -> Void = {}
    ) {
      self.write = write
      Foundation.Thread.detachNewThread { [self] in
        while let batch = nextBatch() { send(batch) }
        ended()
      }
    }

    var isEmpty: Bool { state.withLock { $0.items.isEmpty && !$0.isSending } }

    static let wasClosed = "the connection was closed"
    static let closedBefore = "the connection was closed before the message was sent"

    @discardableResult func send(_ message: Outgoing) -> Bool {
      let (isClosed, mustWake) = state.withLock { state in
        if !state.isClosed { state.items.append(message) }
        return (state.isClosed, SendQueue.mustWake(&state))
      }
      if isClosed { message.isSent?(SendQueue.wasClosed) }
      if mustWake { signal.signal() }
      return !isClosed
    }

    func pause() { state.withLock { $0.isLost = true } }

    func resume() { change { ($0.isLost, $0.hasFailed) = (false, false) } }

    func tryAgain() { change { $0.hasFailed = false } }

    func close() { change { $0.isClosed = true } }

    private func change(_ body: (inout State) -> Void) {
      let mustWake = state.withLock { state in
        body(&state)
        return SendQueue.mustWake(&state)
      }
      if mustWake { signal.signal() }
    }

    private static func mustWake(_ state: inout State) -> Bool {
      guard state.isAsleep, state.isClosed || !state.isPaused && !state.items.isEmpty else { return false }
      state.isAsleep = false
      return true
    }

    /// Waits until messages may be sent; `nil` when the queue was closed.
    private func nextBatch() -> [Outgoing]? {
      while true {
        let (batch, isClosed) = state.withLock { state -> ([Outgoing], Bool) in
          state.isSending = false
          if state.isClosed || state.isPaused || state.items.isEmpty {
            state.isAsleep = !state.isClosed
            guard state.isClosed else { return ([], false) }
          }
          defer { state.items = [] }
          state.isSending = !state.isClosed
          return (state.items, state.isClosed)
        }
        if isClosed {
          for message in batch { message.isSent?(SendQueue.closedBefore) }
          return nil
        }
        if !batch.isEmpty { return batch }
        signal.wait()
      }
    }

    private func send(_ batch: [Outgoing]) {
      for (index, message) in batch.enumerated() {
        switch message.isNeeded?() == false ? .sent : write(message) {
        case .sent: message.isSent?(nil)
        case .failed(let reason): message.isSent?(reason)
        case .away: return wait(batch[index...])
        case .late(let limit):
          var message = message
          message.lateWrites += 1
          if message.lateWrites < SendQueue.mostLateWrites { return wait([message] + batch[(index + 1)...]) }
          wait(batch[(index + 1)...])
          message.isSent?(
            "expected a connection that takes \(message.size) bytes within \(limit); \(message.lateWrites) did not")
          return
        }
      }
    }

    /// Puts unsent messages in front again, until ``tryAgain()`` or ``resume()``.
    private func wait(_ messages: some Collection<Outgoing>) {
      state.withLock { state in
        state.items.insert(contentsOf: messages, at: 0)
        state.hasFailed = true
      }
    }
  }
#endif
