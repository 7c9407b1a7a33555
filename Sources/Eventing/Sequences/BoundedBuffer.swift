/// What waits for one iterator, with a bound.
///
/// A plain value without threads; the hub guards it. All of it is O(1), amortized, however much waits.
struct BoundedBuffer: ~Copyable {
  private let buffering: Buffering
  private var items: PayloadQueue<Item>
  /// How many were dropped after the last item.
  private var lag = 0

  struct Item: PayloadHeader {
    /// How many were dropped directly before it.
    var lag: Int
    var sender: WaitingSender?
  }

  init(_ buffering: Buffering, _ type: PayloadType) {
    self.buffering = buffering
    items = PayloadQueue(type)
  }

  private init(_ buffering: Buffering, _ items: consuming PayloadQueue<Item>, lag: Int) {
    self.buffering = buffering
    self.items = items
    self.lag = lag
  }

  func copy() -> BoundedBuffer { BoundedBuffer(buffering, items.copy(), lag: lag) }

  /// What became of a payload.
  struct HandlerOutcome {
    var isTaken = true
    var keepsSender = false
    /// It took the place of another one.
    var hasReplaced = false
  }

  /// - Parameter sender: of a `send`; it is kept, and waits, if there is no room: until its item lies within the bound.
  /// - Parameter dropped: gets what is dropped for it, to be destroyed outside of the lock.
  mutating func append(
    _ payload: BorrowedPayload, isSend: Bool, _ sender: WaitingSender?, _ dropped: inout PayloadQueue<PayloadAlone>
  ) -> HandlerOutcome {
    let waiting = items.count
    switch buffering.decision(waiting: waiting, isSend: isSend) {
    case .keep:
      let mustWait = isSend && buffering.decision(waiting: waiting, isSend: false) == .dropIt
      items.append(Item(lag: lag, sender: mustWait ? sender : nil), payload)
      lag = 0
      return HandlerOutcome(keepsSender: mustWait && sender != nil)
    case .dropIt:
      lag += 1
      return HandlerOutcome(isTaken: false)
    case .dropOldest:
      let oldest = items.takeFirst()
      dropped.append(PayloadAlone(), takenFrom: &items)
      items.append(Item(lag: 0), payload)
      items[0].lag += oldest.lag + 1
      return HandlerOutcome(hasReplaced: true)
    }
  }

  /// Whether there is nothing to be told.
  var isEmpty: Bool { items.isEmpty && lag == 0 }

  /// Moves the item that is next to an iterator's batch; gives the send that need not wait any more: the one whose item now lies within the bound.
  mutating func moveFirst(to batch: inout PayloadQueue<PayloadAlone>) -> (item: Item, room: WaitingSender?)? {
    guard !items.isEmpty else { return nil }
    let item = items.takeFirst()
    batch.append(PayloadAlone(), takenFrom: &items)
    items.recycle()
    // One item was taken, so at most one has come within the bound. The sender of an item that is taken has waited no longer than for that.
    guard case .suspendingSender(let count) = buffering.kind, items.count >= count else { return (item, nil) }
    var room: WaitingSender?
    swap(&room, &items[count - 1].sender)
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
    for i in 0..<items.count {
      if let sender = items[i].sender { senders.append(sender) }
      items[i].sender = nil
    }
    return senders
  }
}

/// A `send` that waits until there is room for what it brought.
struct WaitingSender: Sendable {
  let completion: Completion
  let node: WaitNode

  /// Not under a lock.
  func pass() { completion.arrive(node, nil) }
}
