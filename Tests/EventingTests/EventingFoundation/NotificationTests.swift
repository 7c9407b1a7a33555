import Eventing
import EventingFoundation
import Foundation
import Testing

/// Tests of forwarding paths through a notification center (G23), and of notifications that begin a
/// new path.
@Suite(.fewAtATime) struct NotificationTests {
  private let center = NotificationCenter()
  private let one = Notification.Name("one")
  private let other = Notification.Name("other")

  @Test func aCycleThroughEventsAndACenterEnds() {
    let first = Event<PostedNotification>(notifications: one, center: center)
    let (second, seen) = (Event<PostedNotification>(notifications: other, center: center), Recorder<String>())
    let middle = Event<PostedNotification>()
    first.addHandler { seen.record("first \($0.name.rawValue)") }
    middle.addHandler { seen.record("middle \($0.name.rawValue)") }
    second.addHandler { seen.record("second \($0.name.rawValue)") }
    let other = other
    first.compactMap { _ in PostedNotification(other) }.forward(to: middle)
    middle.forward(to: center)  // the center posts a notification, which `second` receives
    second.forward(to: first)
    center.post(name: one, object: nil)
    #expect(seen.values == ["first one", "middle other", "second other"])
    middle.post(PostedNotification(other))
    #expect(seen.values.dropFirst(3) == ["middle other", "second other", "first other"])
  }

  @Test func aCycleThroughTwoCentersEnds() {
    let far = NotificationCenter()
    let (here, there) = (
      Event<PostedNotification>(notifications: one, center: center),
      Event<PostedNotification>(notifications: one, center: far)
    )
    let calls = Recorder<String>()
    here.addHandler { _ in calls.record("here") }
    there.addHandler { _ in calls.record("there") }
    here.forward(to: far)
    there.forward(to: center)
    center.post(name: one, object: nil)
    #expect(calls.values == ["here", "there"])
  }

  @Test func aSendWaitsForListenersOfTheCenterAndTheSenderIsKept() async {
    let (start, heard) = (Event<Int>(), Event<PostedNotification>(notifications: one, center: center))
    let (gate, sender, seen) = (Gate(), Plain(), Recorder<Bool>())
    start.forward(to: center, as: one)
    heard.occurrences.addHandler { occurrence in
      await gate.opened()
      seen.record(occurrence.sender === sender)
    }
    let sending = Task { await start.send(1, from: sender) }
    for _ in 0..<100 { await Task.yield() }
    #expect(seen.values == [])
    gate.open()
    #expect(await comesBack { await sending.value }?.delivered == 1)
    #expect(seen.values == [true])
  }

  @Test func aViewIsForwardedToACenter() {
    let (numbers, heard) = (Event<Int>(), Event<PostedNotification>(notifications: one, center: center))
    let seen = Recorder<Int?>()
    heard.addHandler { seen.record($0.userInfo?["number"] as? Int) }
    numbers.filter { $0 > 1 }.forward(to: center, as: one) { ["number": $0] }
    for number in 1...3 { numbers.post(number) }
    #expect(seen.values == [2, 3])
  }

  @Test func noLaterObjectAtAnAddressIsTakenForAReleasedOne() {
    var object: Plain? = Plain()
    let (event, calls) = (Event<PostedNotification>(notifications: one, object: object, center: center), Counter())
    event.addHandler { _ in calls.add() }
    center.post(name: one, object: object)
    object = nil
    for _ in 0..<1_000 { center.post(name: one, object: Plain()) }
    #expect(calls.value == 1)
  }

  @Test func aForwardEndsWithTheObjectThatItNames() async {
    var object: Plain? = Plain()
    let event = Event<Int>()
    event.forward(to: center, as: one, object: object)
    #expect(await event.send(1).delivered == 1)
    object = nil
    #expect(await event.send(2).reachedNobody)
    #expect(event.handlerCount == 0)
  }

  @Test func notificationsFromTasksAndOtherNotificationsBeginANewPath() async {
    let numbers = Event<Int>()
    let back = Event<PostedNotification>(notifications: one, center: center)
    let warned = Event<PostedNotification>(notifications: other, center: center)
    let (seen, later) = (Recorder<Int>(), Recorder<Task<Void, Never>>())
    let (one, other, center) = (one, other, Unchecked(center))
    numbers.addHandler { seen.record($0) }
    numbers.forward(to: center.value, as: one) { ["number": $0] }
    back.compactMap { $0.userInfo?["number"] as? Int }.forward(to: numbers)
    warned.addHandler { _ in center.value.post(name: one, object: nil, userInfo: ["number": 2]) }
    let over = Gate()
    let observer = center.value.addObserver(forName: one, object: nil, queue: nil) { notification in
      guard notification.userInfo?["number"] as? Int == 1 else { return }
      center.value.post(name: other, object: nil)
      later.record(
        Task {
          await over.opened()
          center.value.post(name: one, object: nil, userInfo: ["number": 3])
        })
    }
    numbers.post(1)
    #expect(seen.values == [1, 2])
    over.open()
    for task in later.values { await task.value }
    #expect(seen.values == [1, 2, 3])
    center.value.removeObserver(observer)
  }

  @Test func aNotificationPostedByAHandlerOnTheWayBeginsANewPath() {
    let (outer, inner) = (
      Event<PostedNotification>(notifications: one, center: center),
      Event<PostedNotification>(notifications: other, center: center)
    )
    let (start, seen) = (Event<Int>(), Recorder<String>())
    let (center, one) = (center, one)
    let numbers = Event<Int>()
    numbers.forward(to: center, as: other)
    numbers.forward(to: start)
    start.forward(to: center, as: one)
    outer.addHandler { _ in seen.record("outer") }
    inner.addHandler { [center = Unchecked(center)] _ in
      seen.record("inner")
      center.value.post(name: one, object: nil)
    }
    numbers.post(1)
    #expect(seen.values == ["inner", "outer", "outer"])
  }

  @Test func anOccurrenceThatAHandlerPostsAgainBeginsANewPath() {
    let event = Event<PostedNotification>(notifications: one, center: center)
    let (start, rounds) = (Event<Int>(), Counter())
    start.forward(to: center, as: one)
    event.addHandler { [weak start] _ in
      rounds.add()
      if rounds.value < 3 { start?.post(rounds.value) }
    }
    start.post(0)
    #expect(rounds.value == 3)
  }
}

/// Safe: any thread may post to a notification center.
private struct Unchecked: @unchecked Sendable {
  let value: NotificationCenter
  init(_ value: NotificationCenter) { self.value = value }
}
