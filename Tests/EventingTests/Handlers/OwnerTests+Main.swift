import Dispatch
import Eventing
import Foundation
import Testing

// The owner of a handler on the main actor is released there by the library (G10).
extension OwnerTests {
  /// The handlers on the main actor.
  enum MainKind: CaseIterable {
    case plain, async, latest, throttled, retrying, view, everywhere

    func add(to event: Event<Int>, _ bus: EventBus, _ owner: Owner) {
      switch self {
      case .plain: event.addHandler(on: .main, owner: owner) { owner, number in owner.update(number) }
      case .async: event.addHandler(on: .main, owner: owner) { owner, number async in owner.update(number) }
      case .latest:
        event.addHandler(.buffering(.latest), on: .main, owner: owner) { owner, number in owner.update(number) }
      case .throttled: event.addHandler(.throttled(every: .microseconds(20)), on: .main, owner: owner) { _, _ in }
      case .retrying: event.addHandler(.retrying(.immediately(attempts: 2)), on: .main, owner: owner) { _, _ in }
      case .view: event.map { $0 + 1 }.addHandler(on: .main, owner: owner) { owner, number in owner.update(number) }
      case .everywhere:
        bus.all(as: Int.self).addHandler(on: .main, owner: owner) { owner, number in owner.update(number) }
      }
    }
  }

  @Test(arguments: MainKind.allCases) func theOwnerOfAHandlerOnTheMainActorIsReleasedThere(kind: MainKind) async {
    let bus = EventBus()
    let event = bus.event(for: Int.self)
    let (elsewhere, stop, live, owners) = (Counter(), Gate(), LiveCount(), Counter())
    let poster = startThread {
      var number = 0
      while !stop.isOpen {
        // More posts than an owner lives would only wait for the main actor.
        guard number < owners.value * 100 else {
          giveWay()
          continue
        }
        event.post(number)
        _ = event.handlerCount > 0
        number += 1
        if number % 20 == 0 { giveWay() }
      }
    }
    for _ in 0..<300 {
      await MainActor.run {
        let owner = Owner(live) { if !isOnMainQueue { elsewhere.add() } }
        kind.add(to: event, bus, owner)
        owners.add()
        let end = ContinuousClock.now + .microseconds(Int.random(in: 0..<60))
        while ContinuousClock.now < end {}
        withExtendedLifetime(owner) {}
      }
    }
    stop.open()
    await poster.opened()
    #expect(await eventually { live.alive == 0 })
    #expect(elsewhere.value == 0)
  }

  @Test func aHandlerOnTheMainActorWhoseOwnerIsGoneIsSkippedAndThenForgotten() async {
    let (event, live) = (Event<Int>(), LiveCount())
    await MainActor.run {
      let owner = Owner(live)
      event.addHandler(on: .main, owner: owner) { owner, number in owner.update(number) }
      withExtendedLifetime(owner) {}
    }
    #expect(await eventually { live.alive == 0 })
    #expect(await event.send(1).delivered == 0)
    #expect(await event.send(2).skipped == 0)
    #expect(event.handlerCount == 0)
  }
}

/// Whether the caller runs on the main queue.
private var isOnMainQueue: Bool { DispatchQueue.getSpecific(key: mainQueueKey) == true }

private let mainQueueKey: DispatchSpecificKey<Bool> = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()
