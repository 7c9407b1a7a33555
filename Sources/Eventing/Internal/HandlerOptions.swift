/// What few handlers have.
@usableFromInline struct HandlerOptions: Sendable {
  @usableFromInline var name: String?
  @usableFromInline var priority = 0
  /// `nil` for none.
  @usableFromInline var tags: Set<String>?
  @usableFromInline var owner: Owner?
  /// The closure is called with that very owner, which therefore stays what it is.
  @usableFromInline var isOwnerBound = false
  /// It wants sender, sequence number and instant.
  @usableFromInline var wantsStamp = false

  @inlinable init() {}

  @inlinable var isEmpty: Bool { name == nil && priority == 0 && tags == nil && owner == nil && !wantsStamp }
}
