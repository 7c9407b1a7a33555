import Dispatch
import Eventing
import EventingDiagnostics
import Foundation

extension Meddle {
  /// A shared variable. It holds an object that all workers use, and that any of them may replace.
  // Safe: `lock` guards `object`. It is an `NSLock`, so it does not depend on the library under
  // test.
  final class Slot<Object: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private let make: @Sendable () -> Object
    /// Guarded by: lock.
    private var object: Object?

    init(_ make: @escaping @Sendable () -> Object) {
      self.make = make
      object = make()
    }

    /// The object. After ``close()`` at the end of the round, each read makes a new object that
    /// this variable does not retain.
    var current: Object { lock.withLock { object } ?? make() }

    /// Puts a new object into this variable, and returns the old one.
    @discardableResult func replace() -> Object { exchange(for: make()) }

    /// Empties this variable at the end of the round, and returns the object. No worker runs any
    /// more that could put a new object into it.
    func close() -> Object { exchange(for: nil) }

    private func exchange(for new: Object?) -> Object {
      let old = lock.withLock {
        let old = object
        object = new
        return old
      }
      return old ?? make()
    }
  }

  /// The latest items of one kind, which the workers share. If the shelf is full, a new item
  /// replaces the oldest one.
  // Safe: `lock` guards `items` and `most`.
  final class Shelf<Item: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    /// Guarded by: lock.
    private var items: [Item] = []
    /// Guarded by: lock.
    private var most: Int

    init(_ most: Int) { self.most = most }

    /// Adds an item. If the shelf was full, removes and returns the oldest item.
    @discardableResult func put(_ item: Item) -> Item? {
      lock.withLock {
        items.append(item)
        return items.count > most ? items.removeFirst() : nil
      }
    }

    /// Returns an item without removing it.
    func pick(_ number: Int) -> Item? { lock.withLock { items.isEmpty ? nil : items[number % items.count] } }

    /// The newest item.
    var last: Item? { lock.withLock { items.last } }

    /// Removes and returns an item.
    func take(_ number: Int) -> Item? {
      lock.withLock { items.isEmpty ? nil : items.remove(at: number % items.count) }
    }

    /// Empties the shelf at the end of the round, and returns the items. The shelf keeps no later
    /// item: ``put(_:)`` returns it at once.
    func close() -> [Item] {
      lock.withLock {
        defer { (items, most) = ([], 0) }
        return items
      }
    }
  }

  /// An owner of handlers and events, which also serves as a key.
  final class Owner: Sendable {
    let mark = Mark(7)
    private let canary = Canary(.owner)

    var isWhole: Bool { mark.carries(7) && canary.isAlive }
  }

  /// An actor for handlers to run on. Only the actor's isolation protects `calls`. So if a handler
  /// runs elsewhere, the thread sanitizer reports a data race.
  actor Account {
    private let canary = Canary(.owner)
    private(set) var calls = 0

    func enter() -> Bool {
      calls += 1
      return canary.isAlive
    }
  }

  /// The objects of one round.
  final class World: Sendable {
    let checks: Checks
    let calls = Counter()
    let received = Counter()
    let replacements = Counter()
    let findings = Counter()

    let pairs = Slot { Event<Pair>("pairs") }
    let otherPairs = Slot {
      Event<Pair>("pairs, in a name too long to be inline", onFailure: .removeHandler(afterFailures: 2))
    }
    let triples = Slot { Event<Triple>() }
    let history = Slot { Event<Triple>("history", replaying: .last(3)) }
    let choices = Slot { Event<Choice>("choices", onFailure: .skipLaterHandlers) }
    let current = Slot { Event<Choice>("current", replaying: .current(.make(0))) }
    let crates = Slot { Event<Crate>("crates") }
    let texts = Slot { Event<Text>("texts", replaying: .last(1)) }
    let tuples = Slot { Event<(Mark, Mark)>("tuples") }
    let signals = Slot { Signal("signals") }
    let keyed = Slot { KeyedEvent<HostileKey, Pair>("keyed") }
    let objects = Slot { KeyedEvent<ObjectKey, Triple>("objects") }
    let observedPair = Slot { Observed(Pair.make(0)) }
    let observedText = Slot { Observed(Text.make(0)) }
    let buses = Slot { EventBus() }
    let questions = Slot { EventQuestion<Pair, Triple>("question") }
    let owners = Slot { Owner() }
    let accounts = Slot { Account() }
    let bags = Slot { HandlerBag() }
    /// An event whose own tokens are never put into `tokens`. So every token in `tokens` belongs to
    /// another event, and this event must refuse the token.
    let stranger = Event<Pair>("stranger")

    let tokens = Shelf<HandlerToken>(48)
    let forwards = Shelf<HandlerBag>(5)
    let tickets = Shelf<SendTicket>(12)
    let loops = Shelf<Task<Void, Never>>(6)
    let observations = Shelf<EventRegistration>(3)
    let carried = Shelf<EventRegistration>(2)

    let serial = DispatchQueue(label: "stress.meddle.serial")
    let crowd = DispatchQueue(label: "stress.meddle.crowd", attributes: .concurrent)

    /// The numbers of the cases in `stepHere` that are frequent in this round.
    let theme: [Int]
    /// Diagnostics that observe many events at a time.
    let diagnostics: Slot<EventDiagnostics>

    init(_ checks: Checks, theme: [Int]) {
      self.checks = checks
      self.theme = theme
      diagnostics = Slot { [findings] in
        let canary = Canary(.handler)
        return EventDiagnostics(slowerThan: .microseconds(10), moreHandlersThan: 2) { finding in
          findings.add()
          checks.expect(.g21, canary.isAlive && !finding.description.isEmpty, "a finding came after a release")
        }
      }
    }

    /// Shares a token with the other workers, on the shelf `tokens`. If the shelf was full, takes
    /// its oldest token off, and puts this token into a new bag. The bag is released at once, and
    /// then removes the token's handler from the event.
    func keep(_ token: HandlerToken) {
      if let oldest = tokens.put(token) { oldest.store(in: HandlerBag()) }
    }

    /// Checks that all parts of a payload carry its number.
    func inspect(_ freight: some Freight, _ place: @autoclosure () -> String) {
      checks.expect(.g21, freight.isWhole, "a payload with the number \(freight.number) is not whole \(place())")
    }

    // MARK: The end of a round

    /// Ends all loops, observations and events, waits until no handler runs, and releases all
    /// objects.
    func end(_ activity: ActivityLog) async {
      for observation in observations.close() { observation.end() }
      for carrying in carried.close() { carrying.end() }
      _ = forwards.close()
      let loops = loops.close()
      for loop in loops.prefix(loops.count / 2) { loop.cancel() }
      await close(pairs, activity)
      await close(otherPairs, activity)
      await close(triples, activity)
      await close(history, activity)
      await close(choices, activity)
      await close(current, activity)
      await close(crates, activity)
      await close(texts, activity)
      await close(tuples, activity)
      await close(signals, activity)
      await close(keyed.close(), activity)
      await close(objects.close(), activity)
      await close(observedPair.close(), activity)
      await close(observedText.close(), activity)
      for bus in [buses.close(), EventBus.shared] {
        await bus.quiesce()
        bus.finish()
        activity.move()
      }
      _ = (diagnostics.close(), questions.close(), owners.close(), accounts.close(), bags.close(), tokens.close())
      for ticket in tickets.close() {
        inspect(await ticket.report)
        activity.move()
      }
      // Loops that were not cancelled end because their events end.
      for loop in loops {
        await loop.value
        activity.move()
      }
    }

    private func close<Payload>(_ slot: Slot<Event<Payload>>, _ activity: ActivityLog) async {
      let event = slot.close()
      event.unlock()
      event.unlockAll()
      event.finish()
      await event.quiesce()
      // A handler of another event may be adding a handler at this moment. The finished event
      // removes the new handler at once.
      let isEmpty = await eventually { event.handlerCount == 0 }
      checks.expect(.g12, isEmpty, "\(event.handlerCount) handlers are left on \(event) after its end")
      activity.move()
    }

    private func close<Key, Payload>(_ event: KeyedEvent<Key, Payload>, _ activity: ActivityLog) async {
      event.unlock()
      event.unlockAll()
      event.finish()
      await event.quiesce()
      // A handler of another event may be adding a handler at this moment. The finished event
      // removes the new handler at once.
      let isEmpty = await eventually { event.handlerCount == 0 }
      checks.expect(.g12, isEmpty, "\(event.handlerCount) handlers are left on \(event) after its end")
      activity.move()
    }

    private func close<Value>(_ observed: Observed<Value>, _ activity: ActivityLog) async {
      observed.removeAll()
      await observed.quiesce()
      activity.move()
    }
  }
}
