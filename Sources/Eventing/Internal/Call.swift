/// What a handler that wants more than the payload is called with.
@usableFromInline struct Call<Payload: Sendable>: Sendable {
  @usableFromInline let payload: Payload
  /// Held for the length of the call.
  @usableFromInline let owner: (any AnyObject & Sendable)?
  /// There for handlers that asked for it.
  @usableFromInline let stamp: Stamp?

  @inlinable init(_ payload: Payload, _ owner: (any AnyObject & Sendable)?, _ stamp: Stamp?) {
    self.payload = payload
    self.owner = owner
    self.stamp = stamp
  }
}

/// What an occurrence has beside its payload.
@usableFromInline struct Stamp: Sendable {
  @usableFromInline let sequence: UInt64
  @usableFromInline let instant: Moment
  @usableFromInline let sender: (any AnyObject & Sendable)?

  @inlinable init(sequence: UInt64, instant: Moment, sender: (any AnyObject & Sendable)?) {
    self.sequence = sequence
    self.instant = instant
    self.sender = sender
  }
}
