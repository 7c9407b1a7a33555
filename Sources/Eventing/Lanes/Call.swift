/// What a handler is called with that may have an owner.
@usableFromInline struct Call: Sendable {
  @usableFromInline let payload: Loan
  /// Held for the length of the call.
  @usableFromInline let owner: (any AnyObject & Sendable)?

  @usableFromInline init(_ payload: Loan, _ owner: (any AnyObject & Sendable)?) {
    self.payload = payload
    self.owner = owner
  }
}
