protocol PayloadHeader {
  var hasPayload: Bool { get }
}

extension PayloadHeader {
  var hasPayload: Bool { true }
}

struct PayloadAlone: PayloadHeader {}

/// Appending allocates only when the queue is full. ``takeFirst()`` moves a header out and leaves
/// its payload in place, where it can be borrowed as ``taken`` until ``destroyTaken()`` or another
/// method with *taken* in its name is called. Append nothing in between, because payloads may move.
///
/// Not synchronized. Methods that destroy a payload are never called under a mutex.
@safe struct PayloadQueue<Header: PayloadHeader>: ~Copyable {
  let layout: PayloadLayout
  private var headers: UnsafeMutablePointer<Header>?
  private var payloads: UnsafeMutableRawPointer?
  private(set) var capacity = 0
  private var head = 0
  private var tail = 0

  init(_ type: PayloadType) { self.init(PayloadLayout(type)) }

  init(_ layout: PayloadLayout) { self.layout = layout }

  deinit {
    guard let headers = unsafe headers else { return }
    for i in head..<tail where unsafe headers[i].hasPayload { unsafe layout.destroy(place(i)) }
    unsafe (headers + head).deinitialize(count: count)
    unsafe headers.deallocate()
    if let payloads = unsafe payloads { unsafe PayloadLayout.deallocate(payloads) }
  }

  @inline(__always) var count: Int { tail &- head }
  @inline(__always) var isEmpty: Bool { head == tail }

  @inline(__always) private func place(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe payloads.unsafelyUnwrapped + index &* layout.stride
  }

  // MARK: Appending

  @inline(__always) mutating func append(_ header: Header) {
    if tail == capacity { makeRoom() }
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  @inline(__always) mutating func append(_ header: Header, _ payload: BorrowedPayload) {
    if tail == capacity { makeRoom() }
    unsafe layout.copy(payload, to: place(tail))
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  /// Moves the ``taken`` payload of `other` here. The caller has just called `other.takeFirst()`.
  mutating func append<Other>(_ header: Header, takenFrom other: inout PayloadQueue<Other>) {
    if tail == capacity { makeRoom() }
    unsafe layout.move(from: other.place(other.head &- 1), to: place(tail))
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  /// Leaves the memory at `payload` uninitialized.
  mutating func append(_ header: Header, moving payload: UnsafeMutableRawPointer) {
    if tail == capacity { makeRoom() }
    unsafe layout.move(from: payload, to: place(tail))
    unsafe (headers.unsafelyUnwrapped + tail).initialize(to: header)
    tail &+= 1
  }

  mutating func moveFirst(_ count: Int, to other: inout PayloadQueue) {
    for _ in 0..<count {
      let header = takeFirst()
      if header.hasPayload { other.append(header, takenFrom: &self) } else { other.append(header) }
    }
  }

  @inline(never) private mutating func makeRoom() {
    if capacity > 0, head > capacity / 2 || isEmpty {
      let count = count
      for i in 0..<count { moveElement(head + i, to: i) }
      (head, tail) = (0, count)
    } else {
      relocate(to: max(layout.keptCount(atMost: 8), 2 * capacity))
    }
  }

  private func moveElement(_ from: Int, to: Int) {
    let headers = unsafe headers.unsafelyUnwrapped
    if unsafe headers[from].hasPayload { unsafe layout.move(from: place(from), to: place(to)) }
    unsafe (headers + to).moveInitialize(from: headers + from, count: 1)
  }

  private mutating func relocate(to capacity: Int) {
    let (count, newHeaders) = (count, UnsafeMutablePointer<Header>.allocate(capacity: capacity))
    let newPayloads = unsafe layout.allocate(capacity)
    if let headers = unsafe headers {
      if layout.isTrivial {
        unsafe newPayloads.copyMemory(from: place(head), byteCount: count * layout.stride)
      } else {
        for i in 0..<count where unsafe headers[head + i].hasPayload {
          unsafe layout.move(from: place(head + i), to: newPayloads + i * layout.stride)
        }
      }
      unsafe newHeaders.moveInitialize(from: headers + head, count: count)
      unsafe headers.deallocate()
      if let payloads = unsafe payloads { unsafe PayloadLayout.deallocate(payloads) }
    }
    unsafe headers = unsafe newHeaders
    unsafe payloads = unsafe newPayloads
    self.capacity = capacity
    (head, tail) = (0, count)
  }

  // MARK: Taking the first

  var first: Header { unsafe headers.unsafelyUnwrapped[head] }

  /// The payload stays in place: see ``taken``.
  @inline(__always) mutating func takeFirst() -> Header {
    let header = unsafe (headers.unsafelyUnwrapped + head).move()
    head &+= 1
    return header
  }

  @inline(__always) mutating func takeFirst(to address: UnsafeMutableRawPointer) -> Header {
    let header = takeFirst()
    unsafe moveTaken(to: address)
    return header
  }

  @inline(__always) func moveTaken(to address: UnsafeMutableRawPointer) {
    unsafe layout.move(from: place(head &- 1), to: address)
  }

  mutating func take(_ distance: Int, to address: UnsafeMutableRawPointer) -> Header {
    let first = unsafe headers.unsafelyUnwrapped + head
    let header = unsafe (first + distance).move()
    unsafe layout.move(from: place(head + distance), to: address)
    unsafe (first + 1).moveInitialize(from: first, count: distance)
    head += 1
    return header
  }

  @inline(__always) var taken: BorrowedPayload { unsafe BorrowedPayload(place(head &- 1), layout.type) }

  @inline(__always) func destroyTaken() { unsafe layout.destroy(place(head &- 1)) }

  func ownedPayloadOfTaken() -> OwnedPayload { unsafe OwnedPayload(moving: place(head &- 1), layout) }

  mutating func untake(_ header: Header) {
    head &-= 1
    unsafe (headers.unsafelyUnwrapped + head).initialize(to: header)
  }

  mutating func replace(at distance: Int, with payload: BorrowedPayload) {
    unsafe layout.destroy(place(head &+ distance))
    unsafe layout.copy(payload, to: place(head &+ distance))
  }

  /// Frees the memory if a burst has made it large. The taken payload must have been destroyed or
  /// moved.
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

  mutating func takeAll() -> PayloadQueue {
    var taken = PayloadQueue(layout)
    swap(&self, &taken)
    return taken
  }

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

  /// O(elements behind it); O(1) for the first element.
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

  /// The new header must have a payload if and only if the old one does.
  subscript(distance: Int) -> Header {
    get { unsafe headers.unsafelyUnwrapped[head + distance] }
    set { unsafe headers.unsafelyUnwrapped[head + distance] = newValue }
  }

  mutating func reverse() {
    var reversed = PayloadQueue(layout)
    for i in (head..<tail).reversed() {
      let header = unsafe (headers.unsafelyUnwrapped + i).move()
      if header.hasPayload { unsafe reversed.append(header, moving: place(i)) } else { reversed.append(header) }
    }
    tail = head
    self = reversed
  }

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
