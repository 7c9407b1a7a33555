final class BusMembers: Sendable {
  private let tokens = Guarded(OrderedTable<HandlerToken>())

  var movedCount: Int { tokens.withLock { $0.movedCount } }

  func insert(_ token: HandlerToken) { tokens.withLock { $0.insert(token, ObjectIdentifier(token.anchor)) } }

  func remove(from event: EventCore) {
    guard let anchor = event.anchorReference.load(), let taken = tokens.withLock({ $0.take(ObjectIdentifier(anchor)) })
    else { return }
    _ = taken.element.anchor.remove(taken.element.record)
  }

  func removeAll() {
    let taken = tokens.withLock { tokens in
      defer { tokens = OrderedTable() }
      return tokens.all
    }
    for token in taken { _ = token.anchor.remove(token.record) }
  }
}

struct OrderedTable<Element: Sendable>: Sendable {
  typealias Place = (id: ObjectIdentifier, element: Element)

  private var places: [Place?] = []
  private var indices: [ObjectIdentifier: Int] = [:]
  private(set) var movedCount = 0

  var isEmpty: Bool { indices.isEmpty }
  var all: [Element] { places.compactMap { $0?.element } }
  var placeCount: Int { places.count }
  func element(at place: Int) -> Element? { places[place]?.element }

  subscript(id: ObjectIdentifier) -> Element? { indices[id].flatMap { places[$0]?.element } }

  mutating func insert(_ element: Element, _ id: ObjectIdentifier) {
    indices[id] = places.count
    places.append((id, element))
  }

  /// The caller releases the results after the unlock.
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
