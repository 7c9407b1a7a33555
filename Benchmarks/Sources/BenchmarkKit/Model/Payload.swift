/// The number of the lowest bit of the sender in a payload. The bits below are the sequence number.
@inlinable @inline(__always) var senderShift: Int { 47 }
/// The shift that turns a payload into the offset of its sender's row in a `CellBlock`, in words.
///
/// A computed property, so that the compiler puts a literal into each handler.
@inlinable @inline(__always) var rowShift: Int { 36 }

/// Returns the payload of a sender's occurrence number `sequence`.
@inlinable @inline(__always) package func payload(sender: Int, sequence: Int) -> Int {
  (sender << senderShift) | sequence
}

/// Returns the sender of a payload.
@inlinable @inline(__always) package func sender(of payload: Int) -> Int { payload >> senderShift }

/// Returns the wrapping sum of `count` consecutive payloads.
func payloadSum(first: Int, count: Int) -> Int {
  let triangle = count.isMultiple(of: 2) ? (count / 2) &* (count - 1) : count &* ((count - 1) / 2)
  return first &* count &+ triangle
}
