/// A condition that selects handlers of an event, for methods that affect several.
///
///     orders.removeAll(where: .named("mail"))
///     orders.lockAll(where: .tagged("io") && !.ownedBy(self))
///
/// A filter retains only its texts and keys.
public struct HandlerFilter: Sendable {
  /// Compares keys, which is user code, so the caller must hold no mutex.
  let isIncluded: @Sendable (Candidate) -> Bool
  /// The filter as text, for a log.
  public let description: String

  /// All handlers, forwards and sequences.
  public static var all: HandlerFilter { HandlerFilter("all") { _ in true } }

  /// The handlers with one of the given names.
  public static func named(_ names: String...) -> HandlerFilter {
    HandlerFilter("named(\(names.joined(separator: ", ")))") { $0.options?.name.map(names.contains) ?? false }
  }

  /// The handlers with the given tag.
  public static func tagged(_ tag: String) -> HandlerFilter {
    HandlerFilter("tagged(\(tag))") { $0.options?.tags?.contains(tag) ?? false }
  }

  /// The handlers of an owner, which is compared by identity. Forwards to it don't count: see
  /// `forwarding(to:)`.
  ///
  /// The filter doesn't retain the owner, so use it only while the owner exists. In the owner's own
  /// `deinit`, it selects nothing, because the owner's handlers have already ended.
  public static func ownedBy(_ owner: AnyObject) -> HandlerFilter {
    let id = ObjectIdentifier(owner)
    return HandlerFilter("ownedBy(\(type(of: owner)))") {
      $0.options?.isForward != true && $0.options?.owner?.objectID == id
    }
  }

  /// The handlers of the given tokens. Tokens of other events select nothing.
  public static func oneOf(_ tokens: some Sequence<HandlerToken>) -> HandlerFilter {
    let ids = Set(tokens.map(\.id))
    return HandlerFilter("oneOf(\(ids.count) tokens)") { ids.contains($0.record.id) }
  }

  /// The handlers of one key of a keyed event, without those of ``KeyedEvent/anyKey``:
  /// `rooms.lockAll(where: .key("lobby", of: rooms))`.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - event: The event, which only gives the type of the keys.
  public static func key<Key, Payload>(_ key: Key, of event: KeyedEvent<Key, Payload>) -> HandlerFilter {
    .key(key)
  }

  package static func key<Key: Hashable & Sendable>(_ key: Key) -> HandlerFilter {
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
