/// What a handler is called with that may have an owner.
@usableFromInline struct HandlerArguments: Sendable {
  @usableFromInline let payload: BorrowedPayload
  /// HeldOccurrence for the length of the call.
  @usableFromInline let owner: (any AnyObject & Sendable)?

  @usableFromInline init(_ payload: BorrowedPayload, _ owner: (any AnyObject & Sendable)?) {
    self.payload = payload
    self.owner = owner
  }
}
