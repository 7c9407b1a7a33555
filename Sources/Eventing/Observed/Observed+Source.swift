// An observed value is a source of itself: it sends the current value first, then each new one.

extension Observed: EventSource {
  /// Adds handlers as a group: each change reaches either all of them or none. Each handler is
  /// called with the current value and then with each new one.
  @inlinable @discardableResult public func add(contentsOf handlers: [Handler<Value>]) -> [HandlerToken] {
    NewValues(storage: storage, wantsReplayValue: true).add(contentsOf: handlers)
  }
  /// Adds a handler that is called with the current value and then with each new one.
  ///
  /// No change is missed in between, and none arrives twice. The handler doesn't retain the value.
  @inlinable @discardableResult public func add(_ handler: Handler<Value>) -> HandlerToken {
    NewValues(storage: storage, wantsReplayValue: true).add(handler)
  }

  /// The value for code that must not set it, lock it or end it: it can only add handlers, and
  /// remove its own. Each handler is called with the current value and then with each new one.
  ///
  /// `$volume` itself can set the value, even if the property is `private(set)`. The source retains
  /// the value.
  public var source: some EventSource<Value> { NewValues(storage: storage, wantsReplayValue: true) }

  /// A source of the new value of each change, without the current one. The source retains the
  /// value.
  @inlinable public var newValues: some EventSource<Value> { NewValues(storage: storage, wantsReplayValue: false) }

  /// Returns a source of changes, each with the old and the new value.
  ///
  /// The source retains the value. A handler added through it doesn't.
  ///
  /// With `initial`, the first call comes on the handler's own delivery, before any later change.
  /// The handler misses no change in between and receives none twice.
  ///
  /// With `prior`, a handler is also called before each change, with ``ValueChange/isPrior`` set.
  /// If the handler is inline and the event is idle, that call comes before the value changes.
  /// Otherwise, it comes just before the change is delivered. There is one such call per change,
  /// although ``Observed/update(_:)`` may make more.
  ///
  /// A handler with a bound or a pace, and one for a single call, receives only changes and no
  /// announcements. A lock holds an announcement only together with its change. This way, no change
  /// is lost to its announcement.
  ///
  /// A handler of announcements may set the value itself, and another thread may set it at the same
  /// time. The announced change then has that newer value as its ``ValueChange/old``. A handler
  /// that is added while others receive the announcement receives the change without one.
  ///
  /// An announcement is a separate occurrence: it has its own sequence number and counts as skipped
  /// for handlers of sources without `prior` (``HandlerSnapshot/skippedCount``).
  ///
  /// - Parameters:
  ///   - initial: Whether the first call delivers the current value, without an old one.
  ///   - prior: Whether each change is announced in a separate call.
  @inlinable public func changes(
    initial: Bool = false, prior: Bool = false
  ) -> some EventSource<ValueChange<Value>> {
    ChangeSource(storage: storage, initial: initial, prior: prior)
  }
}

extension Observed: HandlerRegistry {
  /// The handlers of changes. While they are locked, the value can still change.
  public var handlerTable: HandlerTable { HandlerTable(content: .event(BorrowedCore(storage), .observed)) }

  /// The number and the type of the event of changes: see ``Event/identity``.
  public var identity: EventIdentity { storage.event.identity }
}

@usableFromInline struct ChangeSource<Value: Sendable>: ViewSource {
  @usableFromInline typealias Payload = ValueChange<Value>

  @usableFromInline let storage: Observed<Value>.Storage
  @usableFromInline let initial: Bool
  @usableFromInline let prior: Bool

  @inlinable init(storage: Observed<Value>.Storage, initial: Bool, prior: Bool) {
    self.storage = storage
    self.initial = initial
    self.prior = prior
  }

  @inlinable var base: Event<ValueChange<Value>> { storage.event }

  @inlinable func converted(_ handler: Handler<ValueChange<Value>>) -> Handler<ValueChange<Value>> {
    let letter = handler.options.letter  // a dead letter has the change as the handler received it
    let hasPrior = prior && handler.hasRoomForAnnouncements
    var handler: Handler<ValueChange<Value>> = handler.viewed { change in
      change.isPrior && !hasPrior ? nil : change
    }
    handler.options.letter = letter
    handler.options.wantsReplayValue = initial
    handler.options.wantsPrior = hasPrior
    return handler
  }
}

@usableFromInline struct NewValues<Value: Sendable>: ViewSource {
  @usableFromInline typealias Payload = Value

  @usableFromInline let storage: Observed<Value>.Storage
  @usableFromInline let wantsReplayValue: Bool

  @inlinable init(storage: Observed<Value>.Storage, wantsReplayValue: Bool) {
    self.storage = storage
    self.wantsReplayValue = wantsReplayValue
  }

  @inlinable var base: Event<ValueChange<Value>> { storage.event }

  @inlinable func converted(_ handler: Handler<Value>) -> Handler<ValueChange<Value>> {
    let letter = handler.options.letter.behind(ValueChange<Value>.letterOfNewValue)
    var handler: Handler<ValueChange<Value>> = handler.viewed { change in change.isPrior ? nil : change.new }
    handler.options.letter = letter
    handler.options.wantsReplayValue = wantsReplayValue
    return handler
  }
}

extension Handler {
  /// An announcement must not take up the room, the turn or the call meant for its change.
  @usableFromInline var hasRoomForAnnouncements: Bool {
    !isOnce && !any.place.buffering.isBounded && options.modifierBox?.modifiers.pace == nil
  }
}

/// One change of an ``Observed`` value.
public struct ValueChange<Value: Sendable>: Sendable {
  /// The value before the change; `nil` in the first call of `changes(initial: true)`.
  public let old: Value?
  /// The value after the change.
  public let new: Value
  /// Whether this only announces a change, which is delivered in another call: see
  /// ``Observed/changes(initial:prior:)``.
  public let isPrior: Bool

  /// Creates a change. The library does this itself; you may need it in tests.
  ///
  /// - Parameters:
  ///   - old: The value before the change, if known.
  ///   - new: The value after the change.
  ///   - isPrior: Whether this only announces a change, which is delivered afterwards.
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
