/// The number of bits for the sequence number in a payload. The bits above them are the number of
/// the sender.
@inlinable @inline(__always) var senderShift: Int { 47 }
/// The shift that finds the row of words (`Int`s) for a payload in a `CellBlock`, which has one row
/// for each sender. `payload >> rowShift` is the index, in the whole block, of the first word of
/// that row.
///
/// A computed property, so that each handler contains the number as a literal, and does not load it
/// from a global variable.
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
