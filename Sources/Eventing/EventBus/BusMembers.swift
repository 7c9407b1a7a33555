/// The handlers that a bus handler has in the events of its bus, at most one in each event.
///
/// They are found by event, so that an event leaves at a cost of O(1). They are kept in the order
/// in which they joined, and removed in that order. It may be used from any thread.
final class BusMembers: Sendable {
  /// The tokens, by the anchor of the event, which the token retains.
  private let tokens = Guarded(OrderedTable<HandlerToken>())

  /// The number of tokens that were looked at to close gaps: at most two for each that was taken.
  var movedCount: Int { tokens.withLock { $0.movedCount } }

  /// Adds the token of a handler in an event that has none here. Complexity: O(1), amortized.
  func insert(_ token: HandlerToken) { tokens.withLock { $0.insert(token, ObjectIdentifier(token.anchor)) } }

  /// Removes the handler in an event, if there is one. Complexity: O(1), amortized.
  func remove(from event: EventCore) {
    guard let anchor = event.anchorReference.load(), let taken = tokens.withLock({ $0.take(ObjectIdentifier(anchor)) })
    else { return }
    _ = taken.element.anchor.remove(taken.element.record)
  }

  /// Removes the handlers in all events, in the order in which they joined.
  func removeAll() {
    let taken = tokens.withLock { tokens in
      defer { tokens = OrderedTable() }
      return tokens.all
    }
    for token in taken { _ = token.anchor.remove(token.record) }
  }
}

/// Elements in the order of insertion, which are found by the identity of an object. An element
/// retains its object.
struct OrderedTable<Element: Sendable>: Sendable {
  typealias Place = (id: ObjectIdentifier, element: Element)

  /// The elements; `nil` for one that was taken.
  private var places: [Place?] = []
  /// The index in `places`, by the object.
  private var indices: [ObjectIdentifier: Int] = [:]
  /// The number of places that were looked at to close gaps.
  private(set) var movedCount = 0

  var isEmpty: Bool { indices.isEmpty }
  /// The elements, in the order of insertion, in a new array.
  var all: [Element] { places.compactMap { $0?.element } }
  /// The number of places. Some may be empty.
  var placeCount: Int { places.count }
  /// Returns the element at a place; `nil` if it was taken.
  func element(at place: Int) -> Element? { places[place]?.element }

  /// The element of an object; `nil` if there is none.
  subscript(id: ObjectIdentifier) -> Element? { indices[id].flatMap { places[$0]?.element } }

  /// Adds an element. Complexity: O(1), amortized.
  mutating func insert(_ element: Element, _ id: ObjectIdentifier) {
    indices[id] = places.count
    places.append((id, element))
  }

  /// Takes out the element of an object, if there is one. Complexity: O(1), amortized.
  ///
  /// - Returns: The element, and the array before if gaps were closed. The caller releases both
  ///   after the unlock.
  mutating func take(_ id: ObjectIdentifier) -> (element: Element, old: [Place?])? {
    guard let index = indices.removeValue(forKey: id), let place = places[index] else { return nil }
    places[index] = nil
    guard places.count > 16, places.count > 2 * indices.count else { return (place.element, []) }
    let old = places
    movedCount += old.count
    places = old.filter { $0 != nil }
    for (index, place) in places.enumerated() { if let place { indices[place.id] = index } }
    return (place.element, old)
  }
}
