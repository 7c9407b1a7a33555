/// The part of an element of a ``PayloadQueue`` that is not the payload.
protocol PayloadSlot {
  /// Whether the place of this slot has a payload.
  var hasPayload: Bool { get }
}

extension PayloadSlot {
  var hasPayload: Bool { true }
}

/// The slot of a payload of which nothing else is to be known.
struct PayloadAlone: PayloadSlot {}

/// A FIFO of slots with payloads beside them, in two rows of memory.
///
/// Appending copies a payload in. It allocates nothing but room, whatever the payload's size.
///
/// The first slot is taken out in two steps, because its payload is lent in place for the length of
/// a call. ``takeFirst()`` moves the slot out. Then ``taken`` is its payload, until
/// ``destroyTaken()`` or another method with *taken* in its name ends that. Append nothing between
/// the two steps: payloads may move.
///
/// A value without synchronization; its owner guards it. Methods that destroy a payload must not be
/// called under a mutex. Complexity: O(1), amortized, unless a method says otherwise.
@safe struct PayloadQueue<Slot: PayloadSlot>: ~Copyable {
  private let layout: PayloadLayout
  private var slots: UnsafeMutablePointer<Slot>?
  private var payloads: UnsafeMutableRawPointer?
  private(set) var capacity = 0
  /// The slots from `head` to `tail` are there.
  private var head = 0
  private var tail = 0

  init(_ type: PayloadType) { self.init(PayloadLayout(type)) }
  private init(_ layout: PayloadLayout) { self.layout = layout }

  deinit {
    guard let slots = unsafe slots else { return }
    for i in head..<tail where unsafe slots[i].hasPayload { unsafe layout.destroy(place(i)) }
    unsafe (slots + head).deinitialize(count: count)
    unsafe slots.deallocate()
    unsafe payloads?.deallocate()
  }

  @inline(__always) var count: Int { tail &- head }
  @inline(__always) var isEmpty: Bool { head == tail }

  @inline(__always) private func place(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe payloads.unsafelyUnwrapped + index &* layout.stride
  }

  // MARK: Appending

  /// Appends a slot without a payload.
  @inline(__always) mutating func append(_ slot: Slot) {
    if tail == capacity { makeRoom() }
    unsafe (slots.unsafelyUnwrapped + tail).initialize(to: slot)
    tail &+= 1
  }

  /// Appends a slot with a copy of a payload.
  @inline(__always) mutating func append(_ slot: Slot, _ payload: Loan) {
    if tail == capacity { makeRoom() }
    unsafe layout.copy(payload, to: place(tail))
    unsafe (slots.unsafelyUnwrapped + tail).initialize(to: slot)
    tail &+= 1
  }

  /// Appends a slot with the payload that was taken out of another queue.
  mutating func append<Other>(_ slot: Slot, takenFrom other: inout PayloadQueue<Other>) {
    if tail == capacity { makeRoom() }
    unsafe layout.move(from: other.place(other.head &- 1), to: place(tail))
    unsafe (slots.unsafelyUnwrapped + tail).initialize(to: slot)
    tail &+= 1
  }

  /// Puts a slot first, with the payload that was taken out of another queue.
  mutating func prepend<Other>(_ slot: Slot, takenFrom other: inout PayloadQueue<Other>) {
    if head == 0 { relocate(to: 2 * capacity + 8, first: capacity + 8) }
    head &-= 1
    unsafe layout.move(from: other.place(other.head &- 1), to: place(head))
    unsafe (slots.unsafelyUnwrapped + head).initialize(to: slot)
  }

  /// Uses the room before the first slot if that is half of all; otherwise doubles the room.
  @inline(never) private mutating func makeRoom() {
    if capacity > 0, head > capacity / 2 || isEmpty {
      let count = count
      for i in 0..<count { moveSlot(head + i, to: i) }
      (head, tail) = (0, count)
    } else {
      relocate(to: max(8, 2 * capacity), first: 0)
    }
  }

  private func moveSlot(_ from: Int, to: Int) {
    let slots = unsafe slots.unsafelyUnwrapped
    if unsafe slots[from].hasPayload { unsafe layout.move(from: place(from), to: place(to)) }
    unsafe (slots + to).moveInitialize(from: slots + from, count: 1)
  }

  /// Moves everything to new memory of a larger capacity, the first slot to the index `first`.
  private mutating func relocate(to capacity: Int, first: Int) {
    let (count, newSlots) = (count, UnsafeMutablePointer<Slot>.allocate(capacity: capacity))
    let newPayloads = unsafe layout.allocate(capacity)
    if let slots = unsafe slots {
      for i in 0..<count where unsafe slots[head + i].hasPayload {
        unsafe layout.move(from: place(head + i), to: newPayloads + (first + i) * layout.stride)
      }
      unsafe (newSlots + first).moveInitialize(from: slots + head, count: count)
      unsafe slots.deallocate()
      unsafe payloads?.deallocate()
    }
    unsafe slots = unsafe newSlots
    unsafe payloads = unsafe newPayloads
    self.capacity = capacity
    (head, tail) = (first, first + count)
  }

  // MARK: Taking the first

  /// The first slot; there has to be one.
  var first: Slot { unsafe slots.unsafelyUnwrapped[head] }

  /// Takes the first slot out; there has to be one. Its payload stays in place until the caller
  /// destroys it.
  @inline(__always) mutating func takeFirst() -> Slot {
    let slot = unsafe (slots.unsafelyUnwrapped + head).move()
    head &+= 1
    return slot
  }

  /// The payload of the slot that was taken out last.
  @inline(__always) var taken: Loan { unsafe Loan(place(head &- 1), layout.type) }

  /// Destroys the payload of the slot that was taken out last. Not under a lock.
  @inline(__always) func destroyTaken() { unsafe layout.destroy(place(head &- 1)) }

  /// The payload of the slot that was taken out last, moved to a parcel of its own.
  func parcelOfTaken() -> Parcel { unsafe Parcel(moving: place(head &- 1), layout) }

  /// The payload of the slot that was taken out last, moved out.
  @inline(__always) func payloadOfTaken<Payload>(_: Payload.Type) -> Payload {
    taken.check(Payload.self)
    return unsafe place(head &- 1).assumingMemoryBound(to: Payload.self).move()
  }

  /// Puts the slot that was taken out last back, with its payload.
  mutating func untake(_ slot: Slot) {
    head &-= 1
    unsafe (slots.unsafelyUnwrapped + head).initialize(to: slot)
  }

  /// If the queue is empty: frees the room that a burst of payloads left behind. No payload may be
  /// taken out at that time.
  @inline(__always) mutating func recycle() {
    guard isEmpty else { return }
    (head, tail) = (0, 0)
    if capacity > 2 * Flood.limit { giveBackRoom() }
  }

  @inline(never) private mutating func giveBackRoom() {
    unsafe slots?.deallocate()
    unsafe payloads?.deallocate()
    unsafe (slots, payloads) = (nil, nil)
    capacity = 0
  }

  // MARK: All of them

  /// Takes the last slot out and destroys its payload. Not under a lock.
  mutating func removeLast() -> Slot {
    tail &-= 1
    let slot = unsafe (slots.unsafelyUnwrapped + tail).move()
    if slot.hasPayload { unsafe layout.destroy(place(tail)) }
    return slot
  }

  /// Changes the slot at a distance from the first, but not whether it has a payload.
  subscript(distance: Int) -> Slot {
    get { unsafe slots.unsafelyUnwrapped[head + distance] }
    set { unsafe slots.unsafelyUnwrapped[head + distance] = newValue }
  }

  /// Reverses the order. O(n)
  mutating func reverse() {
    var reversed = PayloadQueue(layout)
    for i in (head..<tail).reversed() {
      let slot = unsafe slots.unsafelyUnwrapped[i]
      if slot.hasPayload { unsafe reversed.append(slot, Loan(place(i), layout.type)) } else { reversed.append(slot) }
    }
    self = reversed
  }

  /// A queue with copies of all slots and payloads. O(n)
  func copy() -> PayloadQueue {
    var copy = PayloadQueue(layout)
    for i in head..<tail {
      let slot = unsafe slots.unsafelyUnwrapped[i]
      if slot.hasPayload { unsafe copy.append(slot, Loan(place(i), layout.type)) } else { copy.append(slot) }
    }
    return copy
  }
}
