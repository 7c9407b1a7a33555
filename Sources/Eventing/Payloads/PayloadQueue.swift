/// The part of an element of a ``PayloadQueue`` that is not the payload.
protocol PayloadHeader {
  /// Whether the place of this header has a payload.
  var hasPayload: Bool { get }
}

extension PayloadHeader {
  var hasPayload: Bool { true }
}

/// The header of a payload of which nothing else is to be known.
struct PayloadAlone: PayloadHeader {}

/// A FIFO of headers with payloads beside them, in two slots of memory.
///
/// Appending copies a payload in. It allocates nothing but room, whatever the payload's size.
///
/// The first header is taken out in two steps, because its payload is lent in place for the length of
/// a call. ``takeFirst()`` moves the header out. Then ``taken`` is its payload, until
/// ``destroyTaken()`` or another method with *taken* in its name ends that. Append nothing between
/// the two steps: payloads may move.
///
/// A value without synchronization; its owner guards it. Methods that destroy a payload must not be
/// called under a mutex. Complexity: O(1), amortized, unless a method says otherwise.
@safe struct PayloadQueue<Header: PayloadHeader>: ~Copyable {
  private let layout: PayloadLayout
  private var headers: UnsafeMutablePointer<Header>?
  private var payloads: UnsafeMutableRawPointer?
  private(set) var capacity = 0
  /// The headers from `head` to `tail` are there.
  private var head = 0
  private var tail = 0

  init(_ type: PayloadType) { self.init(PayloadLayout(type)) }
  private init(_ layout: PayloadLayout) { self.layout = layout }

  deinit {
    guard let headers = unsafe headers else { return }
    for i in head..<tail where unsafe headers[i].hasPayload { unsafe layout.destroy(place(i)) }
    unsafe (headers + head).deinitialize(count: count)
    unsafe headers.deallocate()
    unsafe payloads?.deallocate()
  }

  @inline(__always) var count: Int { tail &- head }
  @inline(__always) var isEmpty: Bool { head == tail }

  @inline(__always) private func place(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe payloads.unsafelyUnwrapped + index &* layout.stride
  }

  // MARK: Appending

  /// Appends a header without a payload.
  @inline(__always) mutating func append(_ header: Header) {
    if tail == capacity { makeRoom() }
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  /// Appends a header with a copy of a payload.
  @inline(__always) mutating func append(_ header: Header, _ payload: BorrowedPayload) {
    if tail == capacity { makeRoom() }
    unsafe layout.copy(payload, to: place(tail))
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  /// Appends a header with the payload that was taken out of another queue.
  mutating func append<Other>(_ header: Header, takenFrom other: inout PayloadQueue<Other>) {
    if tail == capacity { makeRoom() }
    unsafe layout.move(from: other.place(other.head &- 1), to: place(tail))
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  /// Puts a header first, with the payload that was taken out of another queue.
  mutating func prepend<Other>(_ header: Header, takenFrom other: inout PayloadQueue<Other>) {
    if head == 0 { relocate(to: 2 * capacity + 8, first: capacity + 8) }
    head &-= 1
    unsafe layout.move(from: other.place(other.head &- 1), to: place(head))
    unsafe (headers.unsafelyUnwrapped + head).initialize(to: header)
  }

  /// Uses the room before the first header if that is half of all; otherwise doubles the room.
  @inline(never) private mutating func makeRoom() {
    if capacity > 0, head > capacity / 2 || isEmpty {
      let count = count
      for i in 0..<count { moveElement(head + i, to: i) }
      (head, tail) = (0, count)
    } else {
      relocate(to: max(8, 2 * capacity), first: 0)
    }
  }

  private func moveElement(_ from: Int, to: Int) {
    let headers = unsafe headers.unsafelyUnwrapped
    if unsafe headers[from].hasPayload { unsafe layout.move(from: place(from), to: place(to)) }
    unsafe (headers + to).moveInitialize(from: headers + from, count: 1)
  }

  /// Moves everything to new memory of a larger capacity, the first header to the index `first`.
  private mutating func relocate(to capacity: Int, first: Int) {
    let (count, newHeaders) = (count, UnsafeMutablePointer<Header>.allocate(capacity: capacity))
    let newPayloads = unsafe layout.allocate(capacity)
    if let headers = unsafe headers {
      for i in 0..<count where unsafe headers[head + i].hasPayload {
        unsafe layout.move(from: place(head + i), to: newPayloads + (first + i) * layout.stride)
      }
      unsafe (newHeaders + first).moveInitialize(from: headers + head, count: count)
      unsafe headers.deallocate()
      unsafe payloads?.deallocate()
    }
    unsafe headers = unsafe newHeaders
    unsafe payloads = unsafe newPayloads
    self.capacity = capacity
    (head, tail) = (first, first + count)
  }

  // MARK: Taking the first

  /// The first header; there has to be one.
  var first: Header { unsafe headers.unsafelyUnwrapped[head] }

  /// Takes the first header out; there has to be one. Its payload stays in place until the caller
  /// destroys it.
  @inline(__always) mutating func takeFirst() -> Header {
    let header = unsafe (headers.unsafelyUnwrapped + head).move()
    head &+= 1
    return header
  }

  /// The payload of the header that was taken out last.
  @inline(__always) var taken: BorrowedPayload { unsafe BorrowedPayload(place(head &- 1), layout.type) }

  /// Destroys the payload of the header that was taken out last. Not under a lock.
  @inline(__always) func destroyTaken() { unsafe layout.destroy(place(head &- 1)) }

  /// The payload of the header that was taken out last, moved to a parcel of its own.
  func parcelOfTaken() -> OwnedPayload { unsafe OwnedPayload(moving: place(head &- 1), layout) }

  /// The payload of the header that was taken out last, moved out.
  @inline(__always) func payloadOfTaken<Payload>(_: Payload.Type) -> Payload {
    taken.check(Payload.self)
    return unsafe place(head &- 1).assumingMemoryBound(to: Payload.self).move()
  }

  /// Puts the header that was taken out last back, with its payload.
  mutating func untake(_ header: Header) {
    head &-= 1
    unsafe (headers.unsafelyUnwrapped + head).initialize(to: header)
  }

  /// If the queue is empty: frees the room that a burst of payloads left behind. No payload may be
  /// taken out at that time.
  @inline(__always) mutating func recycle() {
    guard isEmpty else { return }
    (head, tail) = (0, 0)
    if capacity > 2 * OverloadControl.limit { giveBackRoom() }
  }

  @inline(never) private mutating func giveBackRoom() {
    unsafe headers?.deallocate()
    unsafe payloads?.deallocate()
    unsafe (headers, payloads) = (nil, nil)
    capacity = 0
  }

  // MARK: All of them

  /// Takes the last header out and destroys its payload. Not under a lock.
  mutating func removeLast() -> Header {
    tail &-= 1
    let header = unsafe (headers.unsafelyUnwrapped + tail).move()
    if header.hasPayload { unsafe layout.destroy(place(tail)) }
    return header
  }

  /// Changes the header at a distance from the first, but not whether it has a payload.
  subscript(distance: Int) -> Header {
    get { unsafe headers.unsafelyUnwrapped[head + distance] }
    set { unsafe headers.unsafelyUnwrapped[head + distance] = newValue }
  }

  /// Reverses the order. O(n)
  mutating func reverse() {
    var reversed = PayloadQueue(layout)
    for i in (head..<tail).reversed() {
      let header = unsafe headers.unsafelyUnwrapped[i]
      if header.hasPayload {
        unsafe reversed.append(header, BorrowedPayload(place(i), layout.type))
      } else {
        reversed.append(header)
      }
    }
    self = reversed
  }

  /// A queue with copies of all headers and payloads. O(n)
  func copy() -> PayloadQueue {
    var copy = PayloadQueue(layout)
    for i in head..<tail {
      let header = unsafe headers.unsafelyUnwrapped[i]
      if header.hasPayload {
        unsafe copy.append(header, BorrowedPayload(place(i), layout.type))
      } else {
        copy.append(header)
      }
    }
    return copy
  }
}
