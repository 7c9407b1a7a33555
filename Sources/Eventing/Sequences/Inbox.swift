/// What waits for one iterator, with a bound.
///
/// A plain value without threads; the channel guards it. All of it is O(1), amortized, however much waits.
struct Inbox<Payload: Sendable> {
  private let buffering: Buffering
  private var items = Queue<Item>()
  /// How many were dropped after the last item.
  private var lag = 0

  struct Item {
    let payload: Payload
    /// How many were dropped directly before it.
    var lag: Int
    var sender: WaitingSender?
  }

  init(_ buffering: Buffering) { self.buffering = buffering }

  /// What became of a payload.
  struct Outcome {
    var isTaken = true
    var keepsSender = false
    /// To be released outside of the lock.
    var dropped: Payload?
  }

  /// - Parameter sender: of a `send`; it is kept, and waits, if there is no room: until its item lies within the bound.
  mutating func append(_ payload: Payload, isSend: Bool, _ sender: WaitingSender?) -> Outcome {
    let waiting = items.count
    switch buffering.decision(waiting: waiting, isSend: isSend) {
    case .keep:
      let mustWait = isSend && buffering.decision(waiting: waiting, isSend: false) == .dropIt
      items.append(Item(payload: payload, lag: lag, sender: mustWait ? sender : nil))
      lag = 0
      return Outcome(keepsSender: mustWait && sender != nil)
    case .dropIt:
      lag += 1
      return Outcome(isTaken: false)
    case .dropOldest:
      let oldest = items.popFirst()
      items.append(Item(payload: payload, lag: 0))
      items.withFirst { $0.lag += (oldest?.lag ?? 0) + 1 }
      return Outcome(dropped: oldest?.payload)
    }
  }

  /// Whether there is nothing to be told.
  var isEmpty: Bool { items.isEmpty && lag == 0 }

  /// The item that is next, and the sends that need not wait any more: the one whose item now lies within the bound.
  mutating func popFirst() -> (item: Item, room: WaitingSender?)? {
    guard let item = items.popFirst() else { return nil }
    // One item was taken, so at most one has come within the bound. The sender of an item that is taken has waited no longer than for that.
    guard case .suspendingSender(let count) = buffering.kind, items.count >= count else { return (item, nil) }
    var room: WaitingSender?
    items.withElement(at: count - 1) { swap(&room, &$0.sender) }
    return (item, room)
  }

  /// What was dropped after the last item, once nothing is left before it.
  mutating func takeLag() -> Int {
    guard items.isEmpty else { return 0 }
    defer { lag = 0 }
    return lag
  }

  /// Takes the sends that wait: for the caller to let them go on, or because another copy does.
  mutating func takeSenders() -> [WaitingSender] {
    guard buffering.suspendsSender else { return [] }
    var senders: [WaitingSender] = []
    items.forEach { item in
      if let sender = item.sender { senders.append(sender) }
      item.sender = nil
    }
    return senders
  }
}

/// A `send` that waits until there is room for what it brought.
struct WaitingSender: Sendable {
  let flight: Flight
  let node: WaitNode

  /// Not under a lock.
  func pass() { flight.arrive(node, nil) }
}
