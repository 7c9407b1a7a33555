/// One change of an ``Observed`` value.
public struct ValueChange<Value: Sendable>: Sendable {
  /// The value before the change; `nil` in the first call of `changes(initial: true)`.
  public let old: Value?
  /// The value after the change.
  public let new: Value
  /// Whether this only announces a change, which another call brings: see
  /// ``Observed/changes(initial:prior:)``.
  public let isPrior: Bool

  /// Creates a change. The library creates them itself; tests may need one.
  ///
  /// - Parameters:
  ///   - old: The value before the change, if known.
  ///   - new: The value after the change.
  ///   - isPrior: Whether this is only the announcement of a change, which is delivered afterwards.
  @inlinable public init(old: Value?, new: Value, isPrior: Bool = false) {
    self.old = old
    self.new = new
    self.isPrior = isPrior
  }
}

extension ValueChange {
  @usableFromInline static var letterOfNewValue: LetterPayload {
    .made { OwnedPayload(ValueChange(old: nil, new: $0.payload(Value.self))) }
  }
}

extension ValueChange: Equatable where Value: Equatable {}

extension ValueChange: CustomStringConvertible {
  public var description: String {
    "\(isPrior ? "before " : "")\(old.map { "\($0)" } ?? "–") → \(new)"
  }
}
