/// What few handlers have.
@usableFromInline struct HandlerOptions: Sendable {
  @usableFromInline var name: String?
  @usableFromInline var priority = 0
  /// `nil` for none.
  @usableFromInline var tags: Set<String>?
  @usableFromInline var owner: Owner?
  /// It wants sender, sequence number and instant.
  @usableFromInline var wantsStamp = false

  @inlinable init() {}

  @inlinable var isEmpty: Bool { name == nil && priority == 0 && tags == nil && owner == nil && !wantsStamp }
}
