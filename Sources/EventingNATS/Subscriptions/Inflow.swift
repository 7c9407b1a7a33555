#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  /// Received messages until their verdicts are carried out: some wait, others are being handled.
  final class Inflow: Sendable {
    struct Item: Sendable {
      var number: UInt64 = 0
      let message: RemoteMessage
      /// `nil` if the message comes from no stream.
      let reply: String?
      /// The consumer that has sent the message; empty without a stream.
      var consumer = ""
    }

    private struct State: Sendable {
      var waiting: [Item] = []
      var head = 0
      var inHand: [UInt64: Item] = [:]
      /// The verdict, or the return to the server, is decided, but not carried out yet.
      var settling: [UInt64: Item] = [:]
      var last: UInt64 = 0
      var isOpen = true
      /// The task that takes messages is running. With `mustLook`, it looks again before it ends.
      var isPumping = false
      var mustLook = false
      var drainers: [OneShot<Void>] = []

      var waitingCount: Int { waiting.count - head }
      var begunCount: Int { inHand.count + settling.count }
      var isIdle: Bool { waitingCount == 0 && begunCount == 0 }

      /// Returns none while a message is left.
      mutating func takeDrainers() -> [OneShot<Void>] {
        guard isIdle else { return [] }
        defer { drainers = [] }
        return drainers
      }
    }

    private let state = Guarded(State())
    private let inFlight: Int

    init(_ inFlight: Int) { self.inFlight = inFlight }

    /// A message counts until its verdict was carried out.
    var count: Int { state.withLock { $0.waitingCount + $0.begunCount } }
    var items: [Item] { state.withLock { Array($0.waiting[$0.head...]) + $0.inHand.values } }
    func lacksVerdict(_ item: Item) -> Bool {
      state.withLock { state in
        if state.inHand[item.number] != nil { return true }
        return state.waitingCount > 0 && item.number >= state.waiting[state.head].number
      }
    }
    func firstPosition(of consumer: String) -> UInt64? {
      state.withLock { state in
        (state.waiting[state.head...] + state.inHand.values + state.settling.values).filter { $0.consumer == consumer }
          .compactMap(\.message.position).min()
      }
    }
    var isOpen: Bool { state.withLock { $0.isOpen } }

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

    /// `nil` if no message waits, or the verdicts of `inFlight` messages were not carried out.
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

    /// Makes the message that was taken last the first of those that wait, unless ``end()`` has
    /// removed it.
    func putBack(_ item: Item) {
      state.withLock { state in
        guard state.inHand.removeValue(forKey: item.number) != nil else { return }
        guard state.head > 0 else { return state.waiting.insert(item, at: 0) }
        state.head -= 1
        state.waiting[state.head] = item
      }
    }

    /// `nil` if ``end()`` has removed the message, so that it goes back to the server. A later
    /// ``end()`` does not.
    ///
    /// The caller carries out the verdict, and then calls ``finish(_:)``. Until then,
    /// ``drain(within:)`` waits, so the connection stays open until the verdict is in the send
    /// queue.
    func settle(_ item: Item) -> Item? {
      state.withLock { state in
        state.settling[item.number] = state.inHand.removeValue(forKey: item.number)
        return state.settling[item.number]
      }
    }

    /// The caller returns these messages to the server. Until ``finish(_:)``, ``drain(within:)``
    /// waits for each.
    func settleWaiting() -> [Item] {
      state.withLock { state in
        let items = Array(state.waiting[state.head...])
        for item in items { state.settling[item.number] = item }
        state.waiting = []
        state.head = 0
        return items
      }
    }

    func finish(_ item: Item) {
      let drainers = state.withLock { state in
        state.settling[item.number] = nil
        return state.takeDrainers()
      }
      for drainer in drainers { drainer.set(()) }
    }

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

    func wake() -> Bool {
      state.withLock { state in
        defer {
          state.mustLook = state.isPumping
          state.isPumping = true
        }
        return !state.isPumping
      }
    }

    /// Returns false if ``wake()`` was called meanwhile, so that the task must look again.
    func stopPumping() -> Bool {
      state.withLock { state in
        defer { state.mustLook = false }
        state.isPumping = state.mustLook
        return !state.mustLook
      }
    }

    // MARK: Ending

    func close() { state.withLock { $0.isOpen = false } }

    func drain(within limit: Duration) async {
      let isIdle = OneShot<Void>()
      let mustWait = state.withLock { state in
        if !state.isIdle { state.drainers.append(isIdle) }
        return !state.isIdle
      }
      if mustWait { await isIdle.value(until: .now + min(limit, .year), or: ()) }
    }

    /// Ends the inflow, and returns the messages that have no verdict yet. Later verdicts have no
    /// effect.
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
