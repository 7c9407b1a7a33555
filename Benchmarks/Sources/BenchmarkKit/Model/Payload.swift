/// The sender is in the bits from 47 on, the sequence below.
@inlinable @inline(__always) var senderShift: Int { 47 }
/// Shifted by this a payload is the offset of its sender's row in a `CellBlock`. Computed, so that a handler finds a literal here.
@inlinable @inline(__always) var rowShift: Int { 36 }

/// What sender `sender` sends as its `sequence`-th occurrence.
@inlinable @inline(__always) package func payload(sender: Int, sequence: Int) -> Int {
  (sender << senderShift) | sequence
}

/// The sender of a payload.
@inlinable @inline(__always) package func sender(of payload: Int) -> Int { payload >> senderShift }

/// The wrapping sum of `count` payloads in a row.
func payloadSum(first: Int, count: Int) -> Int {
  let triangle = count.isMultiple(of: 2) ? (count / 2) &* (count - 1) : count &* ((count - 1) / 2)
  return first &* count &+ triangle
}
