#if NATS
  import Dispatch
  import Eventing
  import Foundation

  extension LibraryConnection {
    /// The result of a call of ``send(_:)``.
    enum Sent {
      case sent
      /// The connection is lost, or was closed by the server, and the message was not sent. libnats
      /// or the engine connects again.
      case away
      /// The socket did not take the message in time, and libnats has ended the connection.
      case late(within: Duration)
      case failed(String)
    }
  }

  /// The messages that wait for the socket, and the one thread that sends them.
  ///
  /// If the server is frozen, sending may block for seconds. So no thread of Swift's pool sends.
  final class SendQueue: Sendable {
    private struct State: Sendable {
      var items: [Outgoing] = []
      /// Whether the connection is lost. While it is, all messages wait.
      var isLost = false
      /// Whether the last send has failed. While it has, all messages wait until ``tryAgain()``.
      var hasFailed = false
      var isPaused: Bool { isLost || hasFailed }
      var isClosed = false
      /// Whether the thread waits for `signal`.
      var isAsleep = false
      /// Whether the thread is sending a batch.
      var isSending = false
    }

    private let state = Guarded(State())
    private let signal = DispatchSemaphore(value: 0)
    private let write: @Sendable (Outgoing) -> LibraryConnection.Sent

    /// The largest number of connections on which one message is tried, if none takes it in time.
    ///
    /// Each try blocks all other messages, and ends the connection. A server that was frozen takes
    /// the message on the next connection.
    static let mostLateWrites = 3

    /// - Parameters:
    ///   - write: A closure that sends one message. It may block.
    ///   - ended: A closure that is called after the close, when each message was sent or dropped.
    init(
      _ write: @escaping @Sendable (Outgoing) -> LibraryConnection.Sent, ended: @escaping @Sendable () -> Void = {}
    ) {
      self.write = write
      Foundation.Thread.detachNewThread { [self] in
        while let batch = nextBatch() { send(batch) }
        ended()
      }
    }

    /// Whether no message waits or is being sent.
    var isEmpty: Bool { state.withLock { $0.items.isEmpty && !$0.isSending } }

    /// The reason that ``Outgoing/isSent`` receives for a message that comes after the close.
    static let wasClosed = "the connection was closed"
    /// The reason that ``Outgoing/isSent`` receives for a message that came before the close, and
    /// was not sent.
    static let closedBefore = "the connection was closed before the message was sent"

    /// Appends a message. Returns whether the send queue was open.
    @discardableResult func send(_ message: Outgoing) -> Bool {
      let (isClosed, mustWake) = state.withLock { state in
        if !state.isClosed { state.items.append(message) }
        return (state.isClosed, SendQueue.mustWake(&state))
      }
      if isClosed { message.isSent?(SendQueue.wasClosed) }
      if mustWake { signal.signal() }
      return !isClosed
    }

    /// Stops sending until ``resume()``, because the connection is lost.
    func pause() { state.withLock { $0.isLost = true } }

    /// Continues to send, because the connection was restored.
    func resume() { change { ($0.isLost, $0.hasFailed) = (false, false) } }

    /// Continues to send after a failure, unless the connection is lost.
    func tryAgain() { change { $0.hasFailed = false } }

    /// Ends the thread, and drops the messages that were not sent.
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

    /// Waits until messages may be sent. Removes and returns all of them; returns `nil` when the
    /// send queue was closed.
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

    /// Puts messages that were not sent in front of messages that were appended meanwhile. All wait
    /// until ``tryAgain()`` or ``resume()``.
    private func wait(_ messages: some Collection<Outgoing>) {
      state.withLock { state in
        state.items.insert(contentsOf: messages, at: 0)
        state.hasFailed = true
      }
    }
  }
#endif
