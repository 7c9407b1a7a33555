/// What a handler is called with that may have an owner.
@usableFromInline struct Call<Payload: Sendable>: Sendable {
  @usableFromInline let payload: Payload
  /// Held for the length of the call.
  @usableFromInline let owner: (any AnyObject & Sendable)?

  @inlinable init(_ payload: Payload, _ owner: (any AnyObject & Sendable)?) {
    self.payload = payload
    self.owner = owner
  }
}
