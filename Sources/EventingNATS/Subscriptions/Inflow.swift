#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// The received messages of one subscription, until their verdicts are carried out. Some wait,
  /// and the handling of the others has begun.
  final class Inflow: Sendable {
    /// A received message.
    struct Item: Sendable {
      var number: UInt64 = 0
      let message: RemoteMessage
      /// The subject for the verdict; `nil` without a stream.
      let reply: String?
      /// The name of the server's consumer that has sent the message; empty without a stream.
      var consumer = ""
    }

    private struct State: Sendable {
      var waiting: [Item] = []
      /// The index of the first item of `waiting` that was not taken.
      var head = 0
      var inHand: [UInt64: Item] = [:]
      /// The messages whose verdict is known, or whose return to the server has begun, until the
      /// verdict or the return is carried out.
      var settling: [UInt64: Item] = [:]
      var last: UInt64 = 0
      /// Whether new messages are accepted.
      var isOpen = true
      /// Whether the task that takes the waiting messages and begins their handling is running.
      /// `mustLook` says whether the task must look for messages again before it ends.
      var isPumping = false
      var mustLook = false
      /// The tasks that wait until all verdicts were carried out.
      var drainers: [OneShot<Void>] = []

      var waitingCount: Int { waiting.count - head }
      var begunCount: Int { inHand.count + settling.count }
      var isIdle: Bool { waitingCount == 0 && begunCount == 0 }

      /// Removes and returns the tasks to resume: all if no message is left, none otherwise.
      mutating func takeDrainers() -> [OneShot<Void>] {
        guard isIdle else { return [] }
        defer { drainers = [] }
        return drainers
      }
    }

    private let state = Guarded(State())
    private let inFlight: Int

    init(_ inFlight: Int) { self.inFlight = inFlight }

    /// The number of messages that wait, or whose handling has begun and whose verdict was not
    /// carried out.
    var count: Int { state.withLock { $0.waitingCount + $0.begunCount } }
    /// All messages without a verdict, both waiting ones and ones that are being handled.
    var items: [Item] { state.withLock { Array($0.waiting[$0.head...]) + $0.inHand.values } }
    /// Returns whether a message has no verdict yet, and was not returned to the server.
    func lacksVerdict(_ item: Item) -> Bool {
      state.withLock { state in
        if state.inHand[item.number] != nil { return true }
        return state.waitingCount > 0 && item.number >= state.waiting[state.head].number
      }
    }
    /// Returns the smallest position of all messages of a consumer in ``count``; `nil` if there is
    /// none.
    func firstPosition(of consumer: String) -> UInt64? {
      state.withLock { state in
        (state.waiting[state.head...] + state.inHand.values + state.settling.values).filter { $0.consumer == consumer }
          .compactMap(\.message.position).min()
      }
    }
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// Appends a message. Returns false if the inflow is closed or full.
    func append(_ item: Item, limit: Int) -> Bool {
      state.withLock { state in
        guard state.isOpen, state.waitingCount < limit else { return false }
        state.last += 1
        var item = item
        item.number = state.last
        state.waiting.append(item)
        return true
      }
    }

    /// Takes the next waiting message, so that its handling begins. Returns `nil` if no message
    /// waits, or if the verdicts of `inFlight` messages were not carried out yet.
    func take() -> Item? {
      state.withLock { state in
        guard state.waitingCount > 0, state.begunCount < inFlight else { return nil }
        let item = state.waiting[state.head]
        state.head += 1
        if state.head == state.waiting.count || state.head >= 1_024 {
          state.waiting.removeFirst(state.head)
          state.head = 0
        }
        state.inHand[item.number] = item
        return item
      }
    }

    /// Records that a message from ``take()`` has a verdict. Returns the message; `nil` if
    /// ``end()`` has removed the message before, so that it goes back to the server.
    ///
    /// The caller carries out the verdict, and then calls ``finish(_:)``. Until then,
    /// ``drain(within:)`` waits for the message. So the connection, which is closed after the
    /// drain, stays open until the verdict is in the send queue, unless the drain reaches its time
    /// limit.
    ///
    /// A later ``end()`` does not return the message: the caller of ``end()`` sends the messages
    /// that it gets back to the server.
    func settle(_ item: Item) -> Item? {
      state.withLock { state in
        state.settling[item.number] = state.inHand.removeValue(forKey: item.number)
        return state.settling[item.number]
      }
    }

    /// Removes and returns the waiting messages, which are to be returned to the server. Until
    /// ``finish(_:)``, ``drain(within:)`` waits for each of them.
    func settleWaiting() -> [Item] {
      state.withLock { state in
        let items = Array(state.waiting[state.head...])
        for item in items { state.settling[item.number] = item }
        state.waiting = []
        state.head = 0
        return items
      }
    }

    /// Removes a message whose verdict was carried out.
    func finish(_ item: Item) {
      let drainers = state.withLock { state in
        state.settling[item.number] = nil
        return state.takeDrainers()
      }
      for drainer in drainers { drainer.set(()) }
    }

    /// Removes and returns the waiting messages.
    func removeWaiting() -> [Item] {
      let (items, drainers) = state.withLock { state in
        let items = Array(state.waiting[state.head...])
        state.waiting = []
        state.head = 0
        return (items, state.takeDrainers())
      }
      for drainer in drainers { drainer.set(()) }
      return items
    }

    // MARK: The task that takes messages

    /// Records that there may be a message to take. Returns whether a task must be started.
    func wake() -> Bool {
      state.withLock { state in
        defer {
          state.mustLook = state.isPumping
          state.isPumping = true
        }
        return !state.isPumping
      }
    }

    /// Records the end of the task that takes waiting messages and begins their handling. If
    /// ``wake()`` was called while that task looked for messages, records no end and returns false:
    /// then the task must look for messages again.
    func stopPumping() -> Bool {
      state.withLock { state in
        defer { state.mustLook = false }
        state.isPumping = state.mustLook
        return !state.mustLook
      }
    }

    // MARK: Ending

    /// Accepts no more messages.
    func close() { state.withLock { $0.isOpen = false } }

    /// Waits until all verdicts were carried out, for at most `limit`.
    func drain(within limit: Duration) async {
      let isIdle = OneShot<Void>()
      let mustWait = state.withLock { state in
        if !state.isIdle { state.drainers.append(isIdle) }
        return !state.isIdle
      }
      if mustWait { await isIdle.value(until: .now + min(limit, .year), or: ()) }
    }

    /// Ends the inflow. Returns the messages without a verdict. Later verdicts have no effect.
    func end() -> [Item] {
      let (items, drainers) = state.withLock { state in
        let items = Array(state.waiting[state.head...]) + state.inHand.values.sorted { $0.number < $1.number }
        state.isOpen = false
        state.waiting = []
        state.head = 0
        state.inHand = [:]
        return (items, state.takeDrainers())
      }
      for drainer in drainers { drainer.set(()) }
      return items
    }
  }
#endif
