/// The sender is in the bits from 47 on, the sequence below; shifted by `rowShift` a payload is the offset of its sender's row.
@usableFromInline let senderShift = 47
@usableFromInline let rowShift = senderShift - CellBlock.columns.trailingZeroBitCount

/// What sender `sender` sends as its `sequence`-th occurrence.
@inlinable @inline(__always) public func payload(sender: Int, sequence: Int) -> Int { (sender << senderShift) | sequence }

/// The sender of a payload.
@inlinable @inline(__always) public func sender(of payload: Int) -> Int { payload >> senderShift }

/// The wrapping sum of `count` payloads in a row.
func payloadSum(first: Int, count: Int) -> Int {
  let triangle = count.isMultiple(of: 2) ? (count / 2) &* (count - 1) : count &* ((count - 1) / 2)
  return first &* count &+ triangle
}
