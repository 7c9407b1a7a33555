/// A condition that selects handlers of an event, for a verb that concerns several.
///
///     orders.removeAll(where: .named("mail"))
///     orders.lockAll(where: .tagged("io") && !.ownedBy(self))
///
/// A filter retains nothing but its texts and keys.
public struct HandlerFilter: Sendable {
  /// Compares keys, which is the user's code, so the caller holds no mutex.
  let isIncluded: @Sendable (Candidate) -> Bool
  /// The filter as text, for a log.
  public let description: String

  /// All handlers, forwards and sequences.
  public static var all: HandlerFilter { HandlerFilter("all") { _ in true } }

  /// The handlers with one of some names.
  public static func named(_ names: String...) -> HandlerFilter {
    HandlerFilter("named(\(names.joined(separator: ", ")))") { $0.options?.name.map(names.contains) ?? false }
  }

  /// The handlers with a tag.
  public static func tagged(_ tag: String) -> HandlerFilter {
    HandlerFilter("tagged(\(tag))") { $0.options?.tags?.contains(tag) ?? false }
  }

  /// The handlers of an owner, which is compared by identity. Forwards do not count as handlers of
  /// their target: see `forwarding(to:)`.
  ///
  /// The filter does not retain the owner: use it while the owner exists. In the owner's own
  /// `deinit` it selects nothing, because the owner's handlers have ended already.
  public static func ownedBy(_ owner: AnyObject) -> HandlerFilter {
    let id = ObjectIdentifier(owner)
    return HandlerFilter("ownedBy(\(type(of: owner)))") {
      $0.options?.isForward != true && $0.options?.owner?.objectID == id
    }
  }

  /// The handlers of some tokens. Tokens of other events select nothing.
  public static func oneOf(_ tokens: some Sequence<HandlerToken>) -> HandlerFilter {
    let ids = Set(tokens.map(\.id))
    return HandlerFilter("oneOf(\(ids.count) tokens)") { ids.contains($0.record.id) }
  }

  /// The handlers of one key of a ``KeyedEvent``. Handlers of ``KeyedEvent/anyKey`` are not among
  /// them.
  public static func key<Key: Hashable & Sendable>(_ key: Key) -> HandlerFilter {
    HandlerFilter("key(\(type(of: key)))") { ($0.key as? KeyBox<Key>)?.key == key }
  }

  /// The forwards to an event.
  public static func forwarding<Other: Sendable>(to target: Event<Other>) -> HandlerFilter {
    forwarding(toObject: target)
  }

  package static func forwarding(toObject target: AnyObject) -> HandlerFilter {
    let id = ObjectIdentifier(target)
    return HandlerFilter("forwarding(to: \(type(of: target)))") {
      $0.options?.isForward == true && $0.options?.owner?.objectID == id
    }
  }

  /// The handlers that both filters select.
  public static func && (first: HandlerFilter, second: HandlerFilter) -> HandlerFilter {
    HandlerFilter("(\(first.description) && \(second.description))") {
      first.isIncluded($0) && second.isIncluded($0)
    }
  }

  /// The handlers that either filter selects.
  public static func || (first: HandlerFilter, second: HandlerFilter) -> HandlerFilter {
    HandlerFilter("(\(first.description) || \(second.description))") {
      first.isIncluded($0) || second.isIncluded($0)
    }
  }

  /// The handlers that a filter does not select.
  public static prefix func ! (filter: HandlerFilter) -> HandlerFilter {
    HandlerFilter("!\(filter.description)") { !filter.isIncluded($0) }
  }

  private init(_ text: String, _ isIncluded: @escaping @Sendable (Candidate) -> Bool) {
    description = text
    self.isIncluded = isIncluded
  }
}

extension HandlerFilter {
  package struct Candidate {
    package let record: HandlerRecord
    let key: AnyKeyBox?

    var options: HandlerOptions? { record.details?.options }
  }
}

extension HandlerFilter: CustomStringConvertible {}
