import Eventing
import Testing

/// Tests of guarantee G22, measured in bytes: buffers shrink after their content is released.
///
/// Each measurement runs in a process of its own, where no other test allocates.
@Suite(.serialized, .fewAtATime) struct HeapTests {
  /// Returns `count`, or a tenth of it in debug builds, which are slow.
  ///
  /// A leak is detected with either number.
  static func many(_ count: Int) -> Int {
    #if DEBUG
      count / 10
    #else
      count
    #endif
  }

  @Test func anIteratorWhoseManyPayloadsWereTakenGivesItsBufferBack() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let count = Self.many(1_000_000)
      let event = Event<Int>()
      let payloads = event.payloads()
      var iterator = payloads.makeAsyncIterator()
      event.post(-1)
      _ = await iterator.next(isolation: #isolation)
      let before = heapInUse()
      for number in 0..<count { event.post(number) }
      for number in 0..<count { #expect(await iterator.next(isolation: #isolation) == number) }
      for number in 0..<10 {  // the iterator keeps its last batch until it takes the next one
        event.post(number)
        _ = await iterator.next(isolation: #isolation)
      }
      let kept = heapInUse() - before
      #expect(kept < 2 * count, "\(kept) bytes stay of \(count) payloads")
      withExtendedLifetime(payloads) {}
    }
  }

  @Test func aKeyedEventWhoseManyKeysAreGoneGivesItsTablesBack() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let count = Self.many(300_000)
      let event = KeyedEvent<Int, Int>()
      event.remove(event[0].addHandler { _ in })
      let before = heapInUse()
      var tokens = (0..<count).map { event[$0].addHandler { _ in } }
      for token in tokens { event.remove(token) }
      tokens = []
      let kept = heapInUse() - before
      #expect(kept < 10 * count, "\(kept) bytes stay of \(count) keys")
    }
  }

  @Test func aKeyedEventWhoseManyObjectsAreGoneGivesItsTablesBack() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let count = Self.many(300_000)
      let (event, own) = (KeyedEvent<ObjectKey, Int>(), Plain())
      event.remove(event[own].addHandler { _ in })
      let before = heapInUse()
      var objects = (0..<count).map { _ in Plain() }
      var tokens = objects.map { event[$0].addHandler { _ in } }
      for token in tokens { event.remove(token) }
      (tokens, objects) = ([], [])
      let kept = heapInUse() - before
      #expect(kept < 10 * count, "\(kept) bytes stay of \(count) objects")
    }
  }

  @Test func aBusWhoseManyOwnersAreGoneGivesItsTablesBack() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let count = Self.many(200_000)
      let (bus, key, own) = (EventBus(), EventKey<Int>("changed"), Plain())
      _ = try? bus.event(key, of: own)
      let before = heapInUse()
      var owners = (0..<count).map { _ in Plain() }
      for owner in owners { _ = try? bus.event(key, of: owner) }
      owners = []
      for _ in 0..<count { _ = try? bus.event(key, of: own) }  // each call sweeps two owners
      let kept = heapInUse() - before
      #expect(kept < 10 * count, "\(kept) bytes stay of \(count) owners")
    }
  }

  @Test func aBagWhoseHandlersWereRemovedByTheirEventKeepsFewTokens() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let count = Self.many(200_000)
      let (event, bag) = (Event<Int>(), HandlerBag())
      event.remove(event.addHandler { _ in })
      let before = heapInUse()
      for _ in 0..<count {
        let token = event.addHandler { _ in }
        token.store(in: bag)
        event.remove(token)
      }
      let kept = heapInUse() - before
      #expect(kept < 10 * count, "\(kept) bytes stay of \(count) handlers")
      #expect(bag.removeAll() == 0)
    }
  }

  @Test func aBagCountsOnlyTheHandlersThatAreStillInTheirEvent() {
    let (event, bag) = (Event<Int>(), HandlerBag())
    let tokens = (0..<100).map { _ in event.addHandler { _ in } }
    for token in tokens { token.store(in: bag) }
    #expect("\(bag)" == "bag of 100 handlers")
    for token in tokens[..<60] { event.remove(token) }
    #expect("\(bag)" == "bag of 40 handlers")
    event.removeAll()
    #expect("\(bag)" == "bag of 0 handlers")
    #expect(bag.removeAll() == 0)
  }
}
