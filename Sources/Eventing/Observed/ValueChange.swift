/// One change of an ``Observed`` value, or of a property that an event observes.
public struct ValueChange<Value: Sendable>: Sendable {
  /// The value before the change. `nil` if the handler did not ask for ``ChangeOptions/old``, and
  /// for a call with the current value (``ChangeOptions/initial``).
  public let old: Value?
  /// The value after the change. `nil` if the handler did not ask for ``ChangeOptions/new``.
  public let new: Value?
  /// Whether the handler receives this only as the announcement of a change. The change itself
  /// follows in another call; see ``ChangeOptions/prior``.
  public let isPrior: Bool

  /// Creates a change. The library creates them itself; tests may need one.
  ///
  /// - Parameters:
  ///   - old: The value before the change, if known.
  ///   - new: The value after the change, if known.
  ///   - isPrior: Whether this is only the announcement of a change, which is delivered afterwards.
  @inlinable public init(old: Value?, new: Value?, isPrior: Bool = false) {
    self.old = old
    self.new = new
    self.isPrior = isPrior
  }
}

extension ValueChange {
  /// How a dead letter gets a change from the new value, which is what the handler received.
  @usableFromInline static var letterOfNewValue: LetterPayload {
    .made { OwnedPayload(ValueChange(old: nil, new: $0.payload(Value.self))) }
  }
}

extension ValueChange: Equatable where Value: Equatable {}

extension ValueChange: CustomStringConvertible {
  public var description: String {
    "\(isPrior ? "before " : "")\(old.map { "\($0)" } ?? "–") → \(new.map { "\($0)" } ?? "–")"
  }
}

/// Which calls a handler of changes receives, and what each of them contains.
public struct ChangeOptions: OptionSet, Sendable {
  public let rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Calls the handler once with the current value, when the handler is added.
  ///
  /// The call comes on the handler's own delivery, before every later change. The handler misses no
  /// change in between and receives none twice. The value arrives as ``ValueChange/new``, so
  /// combine this option with ``new``.
  @inlinable public static var initial: ChangeOptions { ChangeOptions(rawValue: 1) }
  /// Fills in ``ValueChange/old``, the value before the change.
  @inlinable public static var old: ChangeOptions { ChangeOptions(rawValue: 2) }
  /// Fills in ``ValueChange/new``, the value after the change.
  @inlinable public static var new: ChangeOptions { ChangeOptions(rawValue: 4) }
  /// Calls the handler before each change, too, with ``ValueChange/isPrior`` set.
  ///
  /// If the handler is inline and the event is idle, the call comes before the value changes.
  /// Otherwise it comes directly before the change is delivered. There is one such call for each
  /// change, and ``Observed/update(_:)`` may make more.
  ///
  /// A handler with a bound, a pace or `once:` hears changes only, without announcements, and a
  /// lock holds an announcement only together with its change. So no change is lost to its
  /// announcement.
  ///
  /// A handler of announcements may set the value itself, and another thread may set it meanwhile.
  /// The change that was announced then has that newer value as its ``ValueChange/old``. A handler
  /// that is added while others receive the announcement receives the change without one.
  ///
  /// An announcement is an occurrence of its own: it has a sequence number, and counts as skipped
  /// for handlers without this option (``HandlerSnapshot/skippedCount``).
  @inlinable public static var prior: ChangeOptions { ChangeOptions(rawValue: 8) }
}

extension ChangeOptions: CustomStringConvertible {
  public var description: String {
    let names: KeyValuePairs<ChangeOptions, String> = [.initial: "initial", .old: "old", .new: "new", .prior: "prior"]
    return "[" + names.filter { contains($0.key) }.map(\.value).joined(separator: ", ") + "]"
  }
}
