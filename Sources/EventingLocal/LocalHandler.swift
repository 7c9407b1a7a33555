/// A handler that is to be added to a ``LocalEventSource``. Its verbs make one.
public struct LocalHandler<Payload> {
  enum Body {
    /// A closure that is called unless the handler is locked or has ended.
    case plain((Payload) -> Void)
    case checked(CheckedBody)
  }
  /// A closure with checks before it. The second argument is called directly before the closure of
  /// the user, which is called only if the result is true. That uses up a once handler.
  typealias CheckedBody = (Payload, () -> Bool) -> LocalDecision

  let options: LocalHandlerOptions
  let owner: AnyObject?
  let body: Body

  init(_ options: [LocalHandlerOption], perform body: @escaping (Payload) -> Void) {
    self.options = LocalHandlerOptions(options)
    owner = nil
    self.body = .plain(body)
  }

  init(_ options: [LocalHandlerOption], owner: AnyObject? = nil, checked: @escaping CheckedBody) {
    self.options = LocalHandlerOptions(options)
    self.owner = owner
    body = .checked(checked)
  }

  /// Creates a handler that has a view in front of it.
  init<Output>(_ handler: LocalHandler<Output>, behind convert: @escaping LocalConversion<Payload, Output>) {
    options = handler.options
    owner = handler.owner
    let (body, hasOwner) = (handler.checked, handler.owner != nil)
    self.body = .checked { [weak owner = handler.owner] payload, claim in
      // The closure of the user is not called if the owner is gone.
      if hasOwner, owner == nil { return .ownerIsGone }
      return convert(payload) { output in body(output, claim) }
    }
  }

  /// The closure with checks before it.
  var checked: CheckedBody {
    switch body {
    case .checked(let body): body
    case .plain(let body):
      { payload, claim in
        if claim() { body(payload) }
        return .proceed
      }
    }
  }
}

/// A closure of a view. The second argument is called with what the handler receives, or not at
/// all.
typealias LocalConversion<Input, Output> = (Input, (Output) -> LocalDecision) -> LocalDecision

/// The decision of a handler on an occurrence, without the type of the payload.
@usableFromInline enum LocalDecision {
  case proceed
  case stop
  /// The handlers that follow receive `LocalEvent.substitute`.
  case substitute
  /// The handler was not called, and ends.
  case ownerIsGone
}

@available(*, unavailable) extension LocalHandler: Sendable {}

/// The options of a handler together.
struct LocalHandlerOptions {
  var name: String?
  var priority = 0
  var isOnce = false

  init(_ options: [LocalHandlerOption]) {
    for option in options {
      switch option.setting {
      case .name(let name): self.name = name
      case .priority(let priority): self.priority = priority
      case .once: isOnce = true
      }
    }
  }
}

/// A handler in the table of its event, without the type of the payload. The table needs no generic
/// code: a removal among 1,000 handlers takes 140,000 instructions, not 1.4 million (x86-64 Linux).
@usableFromInline class LocalHandlerEntry {
  // Safe: see `LocalEvent.handlers`.
  @safe @exclusivity(unchecked) @usableFromInline final var state: LocalHandlerState
  /// The place in the order in which handlers were added.
  @usableFromInline final let number: Int
  final let options: LocalHandlerOptions
  final let hasOwner: Bool
  private(set) final weak var owner: AnyObject?

  /// The number of calls of `withLocked` that run.
  final var scopeCount = 0 {
    didSet { if scopeCount > 0 { state.insert(.scoped) } else { state.remove(.scoped) } }
  }

  init(number: Int, _ options: LocalHandlerOptions, owner: AnyObject?, _ state: LocalHandlerState) {
    self.number = number
    self.options = options
    self.owner = owner
    self.state = state
    hasOwner = owner != nil
  }

  final var isOwnerGone: Bool { hasOwner && owner == nil }
  final var isAlive: Bool { !state.contains(.ended) && !isOwnerGone }
}

/// A handler in the table of its event. All entries of an event are of this class.
@usableFromInline final class LocalHandlerRecord<Payload>: LocalHandlerEntry {
  /// The closure of a handler whose state is empty.
  @usableFromInline let call: (Payload) -> Void
  /// The closure of other handlers.
  let checked: LocalHandler<Payload>.CheckedBody

  init(_ handler: LocalHandler<Payload>, number: Int) {
    checked = handler.checked
    if case .plain(let body) = handler.body, !handler.options.isOnce {
      call = body
      super.init(number: number, handler.options, owner: nil, [])
    } else {
      call = { _ in }
      super.init(number: number, handler.options, owner: handler.owner, .checked)
    }
  }
}

/// The reasons not to call a handler, or not without checks.
@usableFromInline struct LocalHandlerState: OptionSet {
  @usableFromInline let rawValue: UInt8
  @usableFromInline init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The handler has an owner, a view in front of it, or is an interceptor or a once handler.
  static var checked: Self { Self(rawValue: 1) }
  /// The handler was removed, or used up, or its owner is gone.
  static var ended: Self { Self(rawValue: 2) }
  static var locked: Self { Self(rawValue: 4) }
  static var scoped: Self { Self(rawValue: 8) }
  static var eventLocked: Self { Self(rawValue: 16) }
  static var silent: Self { [.ended, .locked, .scoped, .eventLocked] }
}

/// A choice about how the calls of a handler of a ``LocalEvent`` are made.
///
/// Options come before the closure, in any order. Of two options of a kind, the later one counts.
public struct LocalHandlerOption: Sendable {
  enum Setting {
    case name(String)
    case priority(Int)
    case once
  }
  let setting: Setting

  /// A name, by which ``LocalHandlerFilter/named(_:)`` selects handlers.
  public static func named(_ name: String) -> LocalHandlerOption { LocalHandlerOption(setting: .name(name)) }

  /// The place of the handler in the order of calls.
  ///
  /// - Parameter priority: Handlers of higher priority come first; handlers of equal priority, in
  ///   the order in which they were added. The default is 0.
  public static func priority(_ priority: Int) -> LocalHandlerOption {
    LocalHandlerOption(setting: .priority(priority))
  }

  /// One call; then the handler is removed. The call may post: the handler has ended before it.
  public static var once: LocalHandlerOption { LocalHandlerOption(setting: .once) }
}

/// The name of one handler of one ``LocalEvent``. Dropping a token changes nothing.
///
/// A token is a plain value. It keeps neither its event nor the handler's closure alive. If a token
/// is used twice, late, or on another event, the call has no effect and returns `false`.
public struct LocalHandlerToken: Hashable, Sendable {
  let event: LocalEventIdentity
  let number: Int

  /// Returns whether two tokens name one handler.
  public static func == (a: LocalHandlerToken, b: LocalHandlerToken) -> Bool {
    a.event === b.event && a.number == b.number
  }
  /// Hashes what names the handler.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(event))
    hasher.combine(number)
  }
}

/// An object that stands for one event.
final class LocalEventIdentity: Sendable {}

/// A condition that selects handlers of a ``LocalEvent``.
public struct LocalHandlerFilter: Sendable {
  /// Returns whether a handler with a name and an owner is selected.
  let isIncluded: @Sendable (String?, AnyObject?) -> Bool

  /// All handlers, forwards and interceptors.
  public static var all: LocalHandlerFilter { LocalHandlerFilter { _, _ in true } }

  /// The handlers with one of some names.
  public static func named(_ names: String...) -> LocalHandlerFilter {
    LocalHandlerFilter { name, _ in name.map(names.contains) ?? false }
  }

  /// The handlers of an owner, which is compared by identity. The owner of a forward is its target.
  ///
  /// The filter does not retain the owner: use it while the owner exists.
  public static func ownedBy(_ owner: AnyObject) -> LocalHandlerFilter {
    let id = ObjectIdentifier(owner)
    return LocalHandlerFilter { _, owner in owner.map { ObjectIdentifier($0) == id } ?? false }
  }
}

/// The decision of an interceptor on an occurrence: see ``LocalEvent/intercept(_:perform:)``.
public struct LocalInterception<Payload> {
  enum Decision {
    case proceed
    case proceedWith(Payload)
    case stop
  }
  let decision: Decision

  /// Passes the occurrence on to the handlers that follow.
  public static var proceed: LocalInterception { LocalInterception(decision: .proceed) }

  /// Passes another payload on to the handlers that follow, later interceptors included.
  ///
  /// - Parameter payload: The payload that they receive in the place of the one that was posted.
  public static func proceed(with payload: Payload) -> LocalInterception {
    LocalInterception(decision: .proceedWith(payload))
  }

  /// Keeps the occurrence from the handlers that follow.
  public static var stop: LocalInterception { LocalInterception(decision: .stop) }
}

extension LocalInterception: Sendable where Payload: Sendable {}
extension LocalInterception.Decision: Sendable where Payload: Sendable {}
