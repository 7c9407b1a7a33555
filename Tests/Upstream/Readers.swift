// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Functions for `check` to look at: each reads references under the library's lock.

/// A value behind the library's lock.
public final class Guarded<Value>: @unchecked Sendable {
  @usableFromInline let mutex = UnfairMutex()
  // Unchecked: the end of a checked access is a call, which keeps retains where they are.
  @exclusivity(unchecked) @usableFromInline var value: Value

  /// Guards `value`.
  public init(_ value: Value) { unsafe self.value = value }

  /// Returns the value, read under the lock.
  @inlinable @inline(__always) public func read() -> Value { mutex.withLock { unsafe value } }

  /// Returns what `body` makes of the value, under the lock.
  @inlinable @inline(__always) public func read<Result>(_ body: (Value) -> Result) -> Result {
    mutex.withLock { unsafe body(value) }
  }
}

/// What the functions read.
public final class Thing: Sayable {
  /// Some state.
  public let number: Int

  /// Makes a thing.
  public init(_ number: Int) { self.number = number }

  /// Says its number.
  public func say() -> Int { number }
}

/// Something that has an existential type.
public protocol Sayable: AnyObject {
  /// Says a number.
  func say() -> Int
}

/// Two references.
public struct Two {
  /// A reference.
  public let first: Thing, second: Thing
}

/// Three references.
public struct Three {
  /// A reference.
  public let first: Thing, second: Thing, third: Thing
}

public func readObject(_ from: Guarded<Thing>) -> Thing { from.read() }
public func readTwo(_ from: Guarded<Two>) -> Two { from.read() }
public func readThree(_ from: Guarded<Three>) -> Three { from.read() }
public func readExistential(_ from: Guarded<any Sayable>) -> any Sayable { from.read() }
public func readClosure(_ from: Guarded<() -> Int>) -> () -> Int { from.read() }
public func readLookup(_ from: Guarded<[Int: Thing]>, _ key: Int) -> Thing? { from.read { $0[key] } }
public func readElement(_ from: Guarded<[Thing]>, _ index: Int) -> Thing { from.read { $0[index] } }
public func readOptional(_ from: Guarded<Thing?>) -> Thing? { from.read() }
public func readArray(_ from: Guarded<[Thing]>) -> [Thing] { from.read() }
