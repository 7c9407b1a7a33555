/// The part of an element of a ``PayloadQueue`` that is not the payload.
protocol PayloadHeader {
  /// Whether a payload lies beside this header.
  var hasPayload: Bool { get }
}

extension PayloadHeader {
  var hasPayload: Bool { true }
}

/// The header of a payload that needs no other information.
struct PayloadAlone: PayloadHeader {}

/// A FIFO of headers with payloads beside them, in two blocks of memory.
///
/// Appending copies a payload into the queue. It allocates only when the queue is full, whatever
/// the size of a payload.
///
/// The first element is taken out in two steps, because its payload is borrowed in place for the
/// length of a call. ``takeFirst()`` moves the header out. Then ``taken`` is its payload, until
/// ``destroyTaken()`` or another method with *taken* in its name ends that. Append nothing between
/// the two steps: payloads may move.
///
/// A value without synchronization; its owner guards it. Methods that destroy a payload must not be
/// called under a mutex. Complexity: O(1), amortized, unless a method says otherwise.
@safe struct PayloadQueue<Header: PayloadHeader>: ~Copyable {
  let layout: PayloadLayout
  private var headers: UnsafeMutablePointer<Header>?
  private var payloads: UnsafeMutableRawPointer?
  private(set) var capacity = 0
  /// The index of the first header.
  private var head = 0
  /// The index behind the last header.
  private var tail = 0

  init(_ type: PayloadType) { self.init(PayloadLayout(type)) }

  /// Creates an empty queue.
  ///
  /// - Parameter capacity: The number of elements that fit without a further allocation.
  init(_ layout: PayloadLayout, capacity: Int = 0) {
    self.layout = layout
    if capacity > 0 { relocate(to: capacity, first: 0) }
  }

  deinit {
    guard let headers = unsafe headers else { return }
    for i in head..<tail where unsafe headers[i].hasPayload { unsafe layout.destroy(place(i)) }
    unsafe (headers + head).deinitialize(count: count)
    unsafe headers.deallocate()
    if let payloads = unsafe payloads { unsafe PayloadLayout.deallocate(payloads) }
  }

  @inline(__always) var count: Int { tail &- head }
  @inline(__always) var isEmpty: Bool { head == tail }

  /// Returns the address for the payload of a header.
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

  /// Appends `header`, together with a payload that is moved here from `other`: the payload
  /// ``taken`` of that queue. The caller has just called `other.takeFirst()`, which took the
  /// payload's old header out of `other`, and left the payload there.
  mutating func append<Other>(_ header: Header, takenFrom other: inout PayloadQueue<Other>) {
    if tail == capacity { makeRoom() }
    unsafe layout.move(from: other.place(other.head &- 1), to: place(tail))
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  /// Appends a header with a payload that is moved here, which leaves `payload` uninitialized.
  mutating func append(_ header: Header, moving payload: UnsafeMutableRawPointer) {
    if tail == capacity { makeRoom() }
    unsafe layout.move(from: payload, to: place(tail))
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  /// Moves the first elements to the end of another queue. O(count)
  mutating func moveFirst(_ count: Int, to other: inout PayloadQueue) {
    for _ in 0..<count {
      let header = takeFirst()
      if header.hasPayload { other.append(header, takenFrom: &self) } else { other.append(header) }
    }
  }

  /// Makes room for one more element. If the free places before the first element are more than
  /// half of the capacity, moves the elements to the beginning of the memory. Otherwise doubles the
  /// capacity.
  @inline(never) private mutating func makeRoom() {
    if capacity > 0, head > capacity / 2 || isEmpty {
      let count = count
      for i in 0..<count { moveElement(head + i, to: i) }
      (head, tail) = (0, count)
    } else {
      relocate(to: max(layout.keptCount(atMost: 8), 2 * capacity), first: 0)
    }
  }

  /// Moves a header and its payload to another index.
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
      if layout.isTrivial {
        let bytes = count * layout.stride
        unsafe (newPayloads + first * layout.stride).copyMemory(from: place(head), byteCount: bytes)
      } else {
        for i in 0..<count where unsafe headers[head + i].hasPayload {
          unsafe layout.move(from: place(head + i), to: newPayloads + (first + i) * layout.stride)
        }
      }
      unsafe (newHeaders + first).moveInitialize(from: headers + head, count: count)
      unsafe headers.deallocate()
      if let payloads = unsafe payloads { unsafe PayloadLayout.deallocate(payloads) }
    }
    unsafe headers = unsafe newHeaders
    unsafe payloads = unsafe newPayloads
    self.capacity = capacity
    (head, tail) = (first, first + count)
  }

  // MARK: Taking the first

  /// The first header. The queue must not be empty.
  var first: Header { unsafe headers.unsafelyUnwrapped[head] }

  /// Takes the first header out. The queue must not be empty. The payload stays in place until the
  /// caller destroys it.
  @inline(__always) mutating func takeFirst() -> Header {
    let header = unsafe (headers.unsafelyUnwrapped + head).move()
    head &+= 1
    return header
  }

  /// Takes the first header out, and moves its payload to uninitialized memory. The queue must not
  /// be empty.
  @inline(__always) mutating func takeFirst(to address: UnsafeMutableRawPointer) -> Header {
    let header = takeFirst()
    unsafe layout.move(from: place(head &- 1), to: address)
    return header
  }

  /// Moves the payload whose header ``takeFirst()`` took out last to uninitialized memory.
  @inline(__always) func moveTaken(to address: UnsafeMutableRawPointer) {
    unsafe layout.move(from: place(head &- 1), to: address)
  }

  /// Takes out the element at a distance from the first, and moves its payload to uninitialized
  /// memory. The elements before it have no payloads. O(distance)
  mutating func take(_ distance: Int, to address: UnsafeMutableRawPointer) -> Header {
    let first = unsafe headers.unsafelyUnwrapped + head
    let header = unsafe (first + distance).move()
    unsafe layout.move(from: place(head + distance), to: address)
    unsafe (first + 1).moveInitialize(from: first, count: distance)
    head += 1
    return header
  }

  /// The payload of the element whose header ``takeFirst()`` took out last. It still lies in the
  /// memory of the queue.
  @inline(__always) var taken: BorrowedPayload { unsafe BorrowedPayload(place(head &- 1), layout.type) }

  /// Destroys the payload whose header ``takeFirst()`` took out last. Never called under a mutex.
  @inline(__always) func destroyTaken() { unsafe layout.destroy(place(head &- 1)) }

  /// Returns the payload ``taken``, moved to memory of its own. ``takeFirst()`` has just taken out
  /// its header.
  func ownedPayloadOfTaken() -> OwnedPayload { unsafe OwnedPayload(moving: place(head &- 1), layout) }

  /// Puts back the header that ``takeFirst()`` took out last. Its payload is still in place.
  mutating func untake(_ header: Header) {
    head &-= 1
    unsafe (headers.unsafelyUnwrapped + head).initialize(to: header)
  }

  /// Replaces the payload of the element at a distance from the first by a copy of another one.
  /// Never called under a mutex.
  mutating func replace(at distance: Int, with payload: BorrowedPayload) {
    unsafe layout.destroy(place(head &+ distance))
    unsafe layout.copy(payload, to: place(head &+ distance))
  }

  /// If the queue is empty, starts at the front again. Frees the memory if a burst of payloads has
  /// made it large, in elements or in bytes. A payload that was taken out must have been destroyed
  /// or moved.
  @inline(__always) mutating func recycle() {
    guard isEmpty else { return }
    (head, tail) = (0, 0)
    if capacity > 2 * OverloadControl.limit || capacity &* layout.stride > PayloadLayout.keptBytes { giveBackRoom() }
  }

  @inline(never) private mutating func giveBackRoom() {
    unsafe headers?.deallocate()
    if let payloads = unsafe payloads { unsafe PayloadLayout.deallocate(payloads) }
    unsafe (headers, payloads) = (nil, nil)
    capacity = 0
  }

  // MARK: All elements

  /// Takes all elements out, with the memory. O(1)
  mutating func takeAll() -> PayloadQueue {
    var taken = PayloadQueue(layout)
    swap(&self, &taken)
    return taken
  }

  /// Takes all headers out, and moves the payloads into an array. Each header must have a payload.
  /// O(n)
  mutating func takeAllPayloads<Payload>(_: Payload.Type) -> [Payload] {
    guard !isEmpty else { return [] }
    let count = count
    unsafe BorrowedPayload(place(head), layout.type).check(Payload.self)
    let first = unsafe place(head).assumingMemoryBound(to: Payload.self)
    let batch = unsafe [Payload](unsafeUninitializedCapacity: count) { buffer, filled in
      unsafe buffer.baseAddress.unsafelyUnwrapped.moveInitialize(from: first, count: count)
      filled = count
    }
    unsafe (headers.unsafelyUnwrapped + head).deinitialize(count: count)
    head = tail
    return batch
  }

  /// Takes out the element at a distance from the first, and destroys its payload. Never called
  /// under a mutex. O(elements behind it); O(1) for the first element.
  mutating func remove(at distance: Int) -> Header {
    let at = head &+ distance
    let header = unsafe (headers.unsafelyUnwrapped + at).move()
    if header.hasPayload { unsafe layout.destroy(place(at)) }
    if distance == 0 {
      head &+= 1
    } else {
      for index in at..<(tail - 1) { moveElement(index + 1, to: index) }
      tail &-= 1
    }
    return header
  }

  /// The header at a distance from the first header, whose distance is 0. The setter must be given
  /// a header with a payload if the old header has one, and one without a payload otherwise.
  subscript(distance: Int) -> Header {
    get { unsafe headers.unsafelyUnwrapped[head + distance] }
    set { unsafe headers.unsafelyUnwrapped[head + distance] = newValue }
  }

  /// Reverses the order. O(n)
  mutating func reverse() {
    var reversed = PayloadQueue(layout)
    for i in (head..<tail).reversed() {
      let header = unsafe (headers.unsafelyUnwrapped + i).move()
      if header.hasPayload { unsafe reversed.append(header, moving: place(i)) } else { reversed.append(header) }
    }
    tail = head
    self = reversed
  }

  /// Returns a queue with copies of all headers and payloads. O(n)
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
