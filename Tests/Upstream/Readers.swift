// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Functions whose assembly the script `check` inspects. Each reads references under the library's
// mutex.

/// A value behind the library's mutex.
public final class Guarded<Value>: @unchecked Sendable {
  @usableFromInline let mutex = UnfairMutex()
  // Unchecked: a checked access ends with a call of the Swift runtime. The optimizer moves no
  // retain past that call. So a checked access would hide the fault that `check` looks for: a
  // retain that is moved past the unlock.
  @exclusivity(unchecked) @usableFromInline var value: Value

  public init(_ value: Value) { unsafe self.value = value }

  /// Returns the value, read under the mutex.
  @inlinable @inline(__always) public func read() -> Value { mutex.withLock { unsafe value } }

  /// Returns the result of `body` for the value, computed under the mutex.
  @inlinable @inline(__always) public func read<Result>(_ body: (Value) -> Result) -> Result {
    mutex.withLock { unsafe body(value) }
  }
}

/// A class. The functions below read references to its objects.
public final class Thing: Sayable {
  public let number: Int

  public init(_ number: Int) { self.number = number }

  public func say() -> Int { number }
}

/// A protocol. The function `readExistential` reads a value of type `any Sayable`.
public protocol Sayable: AnyObject {
  func say() -> Int
}

/// Two references.
public struct Two {
  public let first: Thing, second: Thing
}

/// Three references.
public struct Three {
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
