import Eventing
import Synchronization

extension Keyed {
  /// Objects as the keys of one event that all workers share.
  final class ObjectBench: Sendable {
    /// An object. Its size is unusual, so that the allocator soon reuses its memory for another
    /// object.
    final class Target: Sendable {
      let number: Int
      let canary = Canary(.owner)
      private let padding = (0, 0, 0)

      init(_ number: Int) { self.number = number }
    }

    /// A payload that names its target.
    struct Letter: Sendable {
      let target: Int
      let canary = Canary(.payload)
    }

    /// The targets that a worker retains until `finish()`, each with the number of calls of its
    /// handler. The worker posts once to each target after it has added the handler. So the number
    /// is 1 when no call is running or queued.
    // Safe: each worker has a `Bench` of its own. During a race, only this worker accesses the
    // variables. Between races, only the scenario does.
    final class Bench: @unchecked Sendable {
      var held: [(target: Target, calls: Counter)] = []
    }

    private let context: ScenarioContext
    private let event = KeyedEvent<ObjectKey, Letter>("objects")
    private let numbers = Counter()
    private let reused = Counter()
    private let posted = Counter()
    private let heardByAny = Counter()
    private let benches: [Bench]

    init(_ context: ScenarioContext) {
      self.context = context
      benches = context.workers.map { _ in Bench() }
      let (canary, checks, heardByAny) = (Canary(.handler), context.checks, heardByAny)
      event.anyKey.addHandler { key, letter in
        heardByAny.add()
        if !canary.isAlive || !letter.canary.isAlive {
          checks.violate(.g22, "the handler of any key uses a released object")
        }
      }
    }

    /// Releases a target, and makes another at its address.
    func replace(_ worker: Worker) {
      let checks = context.checks
      var first: Target? = make()
      let address = first.map { ObjectIdentifier($0) }
      guard let key = first.map({ ObjectKey($0) }) else { return }
      if let first {
        listen(to: first, Counter(), worker)
        post(to: first, worker)
      }
      first = nil
      context.faults.count(.drop)
      // Another thread may still look up through the key's weak reference whether the object
      // exists, and retain the object meanwhile. So the object may live a little longer than the
      // reference `first`.
      let deadline = Clock.now + 1_000_000_000
      while key.object != nil, Clock.now < deadline { RawThread.giveWay() }
      checks.expect(.g10, key.object == nil, "a key keeps its object alive")
      guard let second = make(at: address) else { return }
      reused.add()
      checks.expect(.g10, ObjectKey(second) != key, "the key of a dead object equals that of one at its address")
      post(to: second, worker)  // `second` has no handler yet, so this post calls only the handler of `anyKey`
      posted.add()
      worker.action(.post) { event.post(Letter(target: -1), to: key) }
      let calls = Counter()
      let token = listen(to: second, calls, worker)
      post(to: second, worker)
      checks.expect(.g10, event.removeAll(where: .ownedBy(second)) == 0, "a key was mistaken for an owner")
      if worker.random.oneIn(2) { return benches[worker.index].held.append((second, calls)) }
      checks.expect(
        .g7, worker.change(.remove) { event.remove(token) }.result, "the handler of an object was not found")
      post(to: second, worker)
    }

    private func make() -> Target { Target(numbers.add()) }

    /// Makes up to 16 targets, until one is at the given address. Retains the targets made before,
    /// so that no two have the same address.
    private func make(at address: ObjectIdentifier?) -> Target? {
      var others: [Target] = []
      for _ in 0..<16 {
        let target = make()
        if ObjectIdentifier(target) == address { return target }
        others.append(target)
      }
      return nil
    }

    @discardableResult private func listen(to target: Target, _ calls: Counter, _ worker: Worker) -> HandlerToken {
      let (number, checks, canary) = (target.number, context.checks, Canary(.handler))
      return worker.change(.add) {
        event[target].addHandler { letter in
          let isMine = letter.target == number && canary.isAlive
          checks.expect(.g10, isMine, "the handler of object \(number) got a payload for object \(letter.target)")
          if calls.add() > 1 {
            checks.violate(.g21, "the handler of object \(number) was called \(calls.value) times; one post was for it")
          }
        }
      }.result
    }

    private func post(to target: Target, _ worker: Worker) {
      posted.add()
      worker.action(.post) { event.post(Letter(target: target.number), to: target) }
    }

    /// Checks, after the race, that everything was delivered. Checks that further use of the event
    /// removes the handlers of released objects.
    func finish() async {
      let checks = context.checks
      await event.quiesce()
      checks.expect(
        .g21, heardByAny.value == posted.value,
        "\(posted.value) were sent to objects, any key received \(heardByAny.value)")
      var (held, called) = (0, 0)
      for bench in benches {
        for (target, calls) in bench.held {
          checks.expect(
            .g21, calls.value == 1, "the handler of object \(target.number), which lives, had \(calls.value) calls of 1"
          )
          if calls.value > 0 { called += 1 }
        }
        held += bench.held.count
        bench.held = []  // releases the targets
      }
      let target = make()
      let heard = Counter()
      for _ in 0..<8 { event[target].addHandler { _ in heard.add() } }
      let report = await event.send(Letter(target: target.number), to: target)
      checks.expect(
        .g10, report.delivered == 9 && heard.value == 8, "eight handlers of an object and one of any key: \(report)")
      // This loop adds handlers for objects that are released at once. Each add examines two
      // handlers, and removes those of released objects. So the loop examines every handler that
      // the event had before the loop. Nine of these stay: eight of `target`, and the handler of
      // `anyKey`. Some handlers that the loop adds stay, too, because no later add examines them.
      // The check allows 129 such handlers, which is more than enough. If no add removed a handler,
      // all handlers of the loop would stay: 200 or more.
      for _ in 0..<event.handlerCount + 200 { event[make()].addHandler { _ in } }
      // If another thread was inside the event, these adds wait in its mailbox, and so do the
      // removals that the adds make. `quiesce` waits for both.
      await event.quiesce()
      checks.expect(
        .g22, event.handlerCount <= 9 + 1 + 64 + 64, "\(event.handlerCount) handlers are left, most of dead objects")
      context.remarks["objects at reused addresses", default: 0] += reused.value
      context.must += held + posted.value
      context.may += held + posted.value
      context.did += called + heardByAny.value
    }
  }
}
