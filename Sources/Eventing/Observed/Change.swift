/// A change of a value.
public struct Change<Value: Sendable>: Sendable {
  /// The value before, if ``ChangeOptions/old`` was asked for and there is one.
  public let old: Value?
  /// The value after, if ``ChangeOptions/new`` was asked for.
  public let new: Value?
  /// Before the change rather than after it.
  public let isPrior: Bool

  /// A change, as ``Observed`` makes them.
  @inlinable public init(old: Value?, new: Value?, isPrior: Bool = false) {
    self.old = old
    self.new = new
    self.isPrior = isPrior
  }
}

extension Change: Equatable where Value: Equatable {}

extension Change: CustomStringConvertible {
  /// In one line.
  public var description: String {
    "\(isPrior ? "before " : "")\(old.map { "\($0)" } ?? "–") → \(new.map { "\($0)" } ?? "–")"
  }
}

/// What a handler of changes is told.
public struct ChangeOptions: OptionSet, Sendable {
  /// The flags.
  public let rawValue: UInt8
  /// From the flags.
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The value as it is, at once, and then every change: none is missed in between, and none comes twice. Say ``new``, too: the value itself is told as a new one.
  @inlinable public static var initial: ChangeOptions { ChangeOptions(rawValue: 1) }
  /// The value before the change.
  @inlinable public static var old: ChangeOptions { ChangeOptions(rawValue: 2) }
  /// The value after the change.
  @inlinable public static var new: ChangeOptions { ChangeOptions(rawValue: 4) }
  /// A call before the change, too: before the value changes if the handler is inline and nothing else is going on, otherwise directly before the
  /// change is told. It comes once for each change. What is set in between, by such a call or by another thread, is then the old value that the
  /// change tells. A handler that is added while the others are told of a change beforehand is told of the change alone.
  @inlinable public static var prior: ChangeOptions { ChangeOptions(rawValue: 8) }
}

extension ChangeOptions: CustomStringConvertible {
  /// In one line.
  public var description: String {
    let names: KeyValuePairs<ChangeOptions, String> = [.initial: "initial", .old: "old", .new: "new", .prior: "prior"]
    return "[" + names.filter { contains($0.key) }.map(\.value).joined(separator: ", ") + "]"
  }
}
