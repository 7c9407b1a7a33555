/// The payloads that wait for one iterator of a sequence with a bound.
///
/// A value without synchronization; the ``SequenceHub`` guards it. Complexity: O(1), amortized,
/// unless a method says otherwise.
struct BoundedBuffer: ~Copyable {
  private let buffering: Buffering
  private var items: PayloadQueue<Item>
  /// The number of payloads that were dropped after the last item.
  private var lag = 0

  struct Item: PayloadHeader {
    /// The number of payloads that were dropped directly before this one.
    var lag: Int
    /// The `send` that waits until this item lies within the bound.
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

  /// The number of payloads that wait.
  var count: Int { items.count }

  func copy() -> BoundedBuffer { BoundedBuffer(buffering, items.copy(), lag: lag) }

  /// The result of appending a payload.
  struct AppendOutcome {
    /// Whether the buffer took the payload.
    var isTaken = true
    /// Whether the sender must wait for room.
    var keepsSender = false
    /// Whether an older payload was dropped to make room for the new one.
    var hasReplaced = false
  }

  /// Appends a payload. If there is no room, `buffering` decides: the buffer drops this payload or
  /// the oldest one, or takes the payload of a `send` beyond the bound, and the `send` waits.
  ///
  /// - Parameters:
  ///   - isSend: Whether a `send` brings the payload. Only for a `send`, a buffer whose bound makes
  ///     senders wait takes a payload beyond the bound.
  ///   - sender: The `send`, if it can wait; otherwise `nil`. If the payload lies beyond the bound,
  ///     its item keeps the `send` until the item lies within the bound.
  ///   - dropped: Receives the payload that is dropped for this one. The caller destroys it after
  ///     it has released the mutex.
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

  /// Whether the iterator has nothing to receive: neither a payload nor a number of dropped ones.
  var isEmpty: Bool { items.isEmpty && lag == 0 }

  /// Moves the first payload to an iterator's batch.
  ///
  /// - Returns: The header of the payload, and the `send` whose item now lies within the bound, if
  ///   there is one. `nil` if no payload waits.
  mutating func moveFirst(to batch: inout PayloadQueue<PayloadAlone>) -> (item: Item, released: WaitingSender?)? {
    guard !items.isEmpty else { return nil }
    let item = items.takeFirst()
    batch.append(PayloadAlone(), takenFrom: &items)
    items.recycle()
    // When one item is taken, at most one other comes within the bound. The sender of that one
    // resumes.
    guard case .suspendingSender(let count) = buffering.kind, items.count >= count else { return (item, nil) }
    var released: WaitingSender?
    swap(&released, &items[count - 1].sender)
    return (item, released)
  }

  /// Returns the number of payloads that were dropped since the last one was taken, and resets the
  /// number. Returns 0 while payloads wait, because the next payload carries the number.
  mutating func takeLag() -> Int {
    guard items.isEmpty else { return 0 }
    defer { lag = 0 }
    return lag
  }

  /// Removes from the buffer all sends that wait for room, and returns them. The caller resumes
  /// them. Complexity: O(*n*).
  ///
  /// After a buffer has been copied for a new iterator, the original and the copy have the same
  /// sends. The caller then calls this for one of the two, and ignores the result, so that the
  /// sends go on waiting in the other.
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

/// A `send` that waits for room in a buffer.
struct WaitingSender: Sendable {
  let completion: Completion
  let node: WaitNode

  /// Lets the `send` go on. Never called under a mutex.
  func pass() { completion.arrive(node, nil) }
}
