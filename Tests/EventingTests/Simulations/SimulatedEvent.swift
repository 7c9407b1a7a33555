import Eventing

/// The object that the handlers of a random program belong to.
protocol SimulatedEvent: Sendable {
  var handlerCount: Int { get }
  @discardableResult func remove(_ token: HandlerToken) -> Bool
  @discardableResult func removeAll(where filter: HandlerFilter) -> Int
  @discardableResult func lock(_ token: HandlerToken, holding: Buffering?) -> Bool
  @discardableResult func unlock(_ token: HandlerToken) -> Bool
  func lock(holding: Buffering?)
  func unlock()
  nonisolated(nonsending) func quiesce() async
}

extension Event: SimulatedEvent {}
extension KeyedEvent: SimulatedEvent {}
extension Observed: SimulatedEvent {}

// Sending and adding, which each kind of event does in its own way.
extension SimulatedWorld {
  /// An object that payloads are sent to.
  final class Address: Sendable {}

  /// A kind of event.
  enum EventKind: Sendable {
    case event
    /// An ``Event`` of an ``EventBus``, beside another one. Some handlers receive the payloads of
    /// both.
    case bus
    /// An ``Observed`` value. A send sets the value. Some handlers receive announcements, too.
    case value
    /// A ``KeyedEvent`` with two objects as keys. Now and then a new object takes the place of one.
    case objects
  }

  /// The source to which a handler is added. An announcement arrives as a negative payload.
  func source(_ number: Int) -> any EventSource<Int> {
    if let value {
      return value.changes(prior: handlers[number].hearsAnnouncements).map { [self] change in
        let send = change.new
        if number == 0 { noteChange(from: change.old, to: send) }
        return change.isPrior ? ~send : send
      }
    }
    guard let keyed else { return plain }
    guard let address = addresses.first(where: { $0.number == handlers[number].address }) else {
      return keyed.anyKey.map { $0.payload }
    }
    return keyed[address.object]
  }

  /// Adds a handler for the payloads of both events of the bus.
  func addForAll(_ place: HandlerKind, once: Bool, _ number: Int, _ canary: Canary) -> HandlerToken {
    switch place {
    case .forAllInOrder:
      bus.all(as: Int.self).addHandler(once ? .once : .options()) { [self] send async throws in
        try await calledAsync(number, send, canary)
      }
    default:
      bus.all(as: Int.self).addHandler(
        once ? .once : .options(), on: place == .forAllOnQueue ? .queue(queue) : .background
      ) {
        [self] send in try called(number, send, canary)
      }
    }
  }

  func post(_ sender: Int) {
    let send = begin(sender)
    if let value {
      value.value = send
    } else if let keyed, let key = key(of: send) {
      keyed.post(send, to: key)
    } else {
      (sends[send].isAside ? aside : plain).post(send)
    }
    end(send, nil)
  }

  func send(_ sender: Int) async {
    let send = begin(sender)
    if let value {
      value.value = send
      await value.quiesce()
      end(send, nil)
    } else if let keyed, let key = key(of: send) {
      end(send, await keyed.send(send, to: key))
    } else {
      end(send, await (sends[send].isAside ? aside : plain).send(send))
    }
  }

  /// Returns the key to which a payload is sent. A send that waits must not retain the object.
  private func key(of send: Int) -> ObjectKey? {
    addresses.first { $0.number == sends[send].address }.map { ObjectKey($0.object) }
  }

  /// Releases an object, and lets a new one take its place, perhaps at the same address.
  func replaceObject() {
    guard keyed != nil else { return }
    let gone = addresses.remove(at: below(2)).number
    for number in handlers.indices where handlers[number].address == gone && handlers[number].removeCall == nil {
      handlers[number].removeCall = tick()
    }
    addresses.append((tick(), Address()))
  }

  /// Checks and records a change. No lock may leave out an earlier one.
  private func noteChange(from old: Int?, to new: Int) {
    if mode.holds, old != lastSet { fail("G1: the value changed from \(lastSet), not from \(old ?? -1)") }
    lastSet = new
  }

  /// Checks and records the announcement of a change, which comes before the change.
  func noteAnnouncement(_ number: Int, of send: Int) {
    let handler = handlers[number]
    if handler.removeReturn != nil { fail("G7: handler \(number) heard of \(send) after its removal") }
    if isMute(number) { fail("G9: handler \(number), \(handler.place), heard of \(send) under a lock") }
    if !handlers[number].announced.insert(send).inserted { fail("G21: handler \(number) heard of \(send) twice") }
    if handler.place.isInOrder, handler.calls.contains(where: { $0.send == send }) {
      fail("G1, G13: handler \(number), \(handler.place), heard of \(send) after the change")
    }
    if handler.reaction == .posts, nested < 12 {
      nested += 1
      post(-1)
    }
  }
}
