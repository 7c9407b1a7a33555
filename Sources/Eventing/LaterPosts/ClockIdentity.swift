/// Objects are compared by identity, values by `==`. Values of a type without `==` are one clock if
/// it has no stored properties; otherwise each value is a clock of its own.
enum ClockIdentity {
  static func hash<C: Clock>(of clock: C) -> Int {
    if C.self is AnyObject.Type { return ObjectIdentifier(clock as AnyObject).hashValue }
    return (clock as? any Hashable)?.hashValue ?? 0
  }

  static func isSame<C: Clock>(_ a: C, _ b: C) -> Bool {
    if C.self is AnyObject.Type { return a as AnyObject === b as AnyObject }
    if let a = a as? any Equatable { return isEqual(a, b) }
    return MemoryLayout<C>.size == 0
  }

  static func isKnown<C: Clock>(_ clock: C) -> Bool {
    C.self is AnyObject.Type || clock is any Equatable || MemoryLayout<C>.size == 0
  }

  private static func isEqual<Value: Equatable>(_ a: Value, _ b: Any) -> Bool { b as? Value == a }
}
