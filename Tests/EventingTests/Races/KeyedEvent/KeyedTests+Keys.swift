import Eventing
import Testing

extension KeyedTests {
  @Test func keysAreThoseOfHandlersThatHaveNotEnded() {
    let rooms = KeyedEvent<String, Int>()
    #expect(rooms.keys.isEmpty && rooms.handlerCount(for: "lobby") == 0)
    let tokens = (0..<3).map { _ in rooms["lobby"].addHandler { _ in } }
    rooms["garden"].once { _ in }
    rooms.anyKey.addHandler { _ in }
    rooms.untargeted.addHandler { _ in }
    #expect(Set(rooms.keys) == ["lobby", "garden"])
    #expect(rooms.handlerCount(for: "lobby") == 3 && rooms.handlerCount(for: "garden") == 1)
    rooms.post(1, to: "garden")
    #expect(rooms.keys == ["lobby"] && rooms.handlerCount(for: "garden") == 0)
    rooms.remove(tokens[0])
    #expect(rooms.handlerCount(for: "lobby") == 2)
    rooms.removeAll(where: .oneOf(tokens))
    #expect(rooms.keys.isEmpty && rooms.handlerCount == 1)
  }

  @Test func aHandlerThatIsAddedToABusyEventHasItsKeyAtOnce() {
    let (rooms, counts) = (KeyedEvent<Int, Int>(), Recorder<Int>())
    rooms[1].addHandler { _ in
      let token = rooms[2].addHandler { _ in }
      counts.record(rooms.handlerCount(for: 2))
      counts.record(rooms.keys.count)
      rooms.remove(token)
      counts.record(rooms.handlerCount(for: 2))
    }
    rooms.post(0, to: 1)
    #expect(counts.values == [1, 2, 0])
  }

  @Test func aKeyWhoseHandlersHaveLostTheirOwnerIsNone() {
    final class Owner: Sendable {}
    let rooms = KeyedEvent<ObjectKey, Int>()
    let place = Owner()
    var owner: Owner? = Owner()
    if let owner { rooms[place].addHandler(owner: owner) { _, _ in } }
    #expect(rooms.keys == [ObjectKey(place)] && rooms.handlerCount(for: ObjectKey(place)) == 1)
    owner = nil
    #expect(rooms.keys.isEmpty && rooms.handlerCount(for: ObjectKey(place)) == 0)
  }

  @Test func keysAreSafeBesideThreadsThatAddAndRemove() async {
    let rooms = KeyedEvent<Int, Int>()
    rooms[-1].addHandler { _ in }
    await onThreads(4) { index in
      for round in 0..<2_000 {
        if index < 2 {
          let token = rooms[index].addHandler { _ in }
          rooms.post(round, to: index)
          rooms.remove(token)
        } else {
          #expect(rooms.keys.contains(-1) && rooms.handlerCount(for: -1) == 1)
        }
      }
    }
    #expect(rooms.keys == [-1])
  }
}
