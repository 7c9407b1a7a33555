/// No synchronization; the ``SequenceHub`` guards it.
struct BoundedBuffer: ~Copyable {
  private let buffering: Buffering
  private var items: PayloadQueue<Item>
  private var lag = 0

  struct Item: PayloadHeader {
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

  var count: Int { items.count }

  func copy() -> BoundedBuffer { BoundedBuffer(buffering, items.copy(), lag: lag) }

  struct AppendOutcome {
    var isTaken = true
    var keepsSender = false
    var hasReplaced = false
  }

  /// The payload of a `send` may be taken beyond the bound. The `send` then waits.
  ///
  /// - Parameter dropped: The caller destroys the payload after the unlock.
  mutating func append(
    _ payload: BorrowedPayload, isSend: Bool, _ sender: WaitingSender?, _ dropped: inout PayloadQueue<PayloadAlone>
  ) -> AppendOutcome {
    let waiting = items.count
    switch buffering.decision(waiting: waiting, isSend: isSend) {
    case .keep:
      let mustWait = isSend && buffering.decision(waiting: waiting, isSend: false) == .dropIt
      items.append(Item(lag: lag, sender: mustWait ? sender : nil), payload)
      lag = 0
      return AppendOutcome(keepsSender: mustWait && sender != nil)
    case .dropIt:
      lag += 1
      return AppendOutcome(isTaken: false)
    case .dropOldest:
      let oldest = items.takeFirst()
      dropped.append(PayloadAlone(), takenFrom: &items)
      items.append(Item(lag: 0), payload)
      items[0].lag += oldest.lag + 1
      return AppendOutcome(hasReplaced: true)
    }
  }

  var isEmpty: Bool { items.isEmpty && lag == 0 }

  mutating func moveFirst(to batch: inout PayloadQueue<PayloadAlone>) -> (item: Item, released: WaitingSender?)? {
    guard !items.isEmpty else { return nil }
    let item = items.takeFirst()
    batch.append(PayloadAlone(), takenFrom: &items)
    items.recycle()
    // When one item is taken, at most one other comes within the bound.
    guard case .suspendingSender(let count) = buffering.kind, items.count >= count else { return (item, nil) }
    var released: WaitingSender?
    swap(&released, &items[count - 1].sender)
    return (item, released)
  }

  /// 0 while payloads wait, because the next one carries the number.
  mutating func takeLag() -> Int {
    guard items.isEmpty else { return 0 }
    defer { lag = 0 }
    return lag
  }

  /// A buffer that was copied for a new iterator shares its sends with the copy. One of the two
  /// then gives them up, and the caller ignores the result.
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

struct WaitingSender: Sendable {
  let completion: Completion
  let node: WaitNode

  /// Never called under a mutex.
  func pass() { completion.arrive(node, nil) }
}
