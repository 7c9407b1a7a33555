import Eventing
import EventingFoundation
import Foundation
import Testing

/// Tests of an event that receives the notifications of a name, and forwards its payloads to that
/// name. A notification that came in is not posted again under its name (G23).
@Suite(.fewAtATime) struct NotificationBridgeTests {
  private let center = NotificationCenter()
  private let one = Notification.Name("one")
  private let other = Notification.Name("other")

  /// An event that forwards to a notification name (`event`), an event that receives the
  /// notifications of that name (`heard`), and a plain observer of the name. A test that needs
  /// forwards from `heard` to `event` adds these itself.
  private final class Bridge: Sendable {
    let event = Event<Int>()
    let heard: Event<PostedNotification>
    let seen = Recorder<String>()
    private let observer: Observer

    init(_ name: Notification.Name, _ center: NotificationCenter) {
      heard = Event(notifications: name, center: center)
      observer = Observer(name, center) { [seen] number, _ in seen.record("observer \(number)") }
      event.addHandler { [seen] number in seen.record("handler \(number)") }
      event.forward(to: center, as: name) { ["number": $0] }
    }
  }

  /// A plain observer of one name, registered for as long as this object lives.
  // Safe: immutable, and any thread may remove an observer.
  private final class Observer: @unchecked Sendable {
    private let center: NotificationCenter
    private let token: any NSObjectProtocol

    init(_ name: Notification.Name, _ center: NotificationCenter, _ body: @escaping @Sendable (Int, AnyObject?) -> Void)
    {
      self.center = center
      token = center.addObserver(forName: name, object: nil, queue: nil) {
        body($0.userInfo?["number"] as? Int ?? 0, $0.object as AnyObject?)
      }
    }

    deinit { center.removeObserver(token) }
  }

  private func post(_ name: Notification.Name, _ number: Int, from object: AnyObject? = nil, to far: Unchecked? = nil) {
    (far?.value ?? center).post(name: name, object: object, userInfo: ["number": number])
  }

  @Test func aBridgeInBothDirectionsTellsEachSideOnce() {
    let bridge = Bridge(one, center)
    bridge.heard.compactMap(number).forward(to: bridge.event)
    post(one, 1)
    #expect(bridge.seen.values.sorted() == ["handler 1", "observer 1"])
    bridge.event.post(2)
    #expect(bridge.seen.values.dropFirst(2) == ["handler 2", "observer 2"])
  }

  @Test func theObjectOfTheNotificationDoesNotMatter() {
    let (object, bridge) = (Plain(), Bridge(one, center))
    bridge.heard.compactMap(number).forward(to: bridge.event)
    post(one, 1, from: object)
    #expect(bridge.seen.values.sorted() == ["handler 1", "observer 1"])
  }

  @Test func viewsAndEventsBetweenChangeNothing() async {
    let (bridge, middle) = (Bridge(one, center), Event<Int>())
    bridge.heard.compactMap(number).filter { $0 > 0 }.compactMap { $0 * 10 }.forward(to: middle)
    middle.map { $0 + 1 }.forward(to: bridge.event)
    post(one, 1)
    #expect(bridge.seen.values.sorted() == ["handler 11", "observer 1"])
    bridge.event.post(2)
    #expect(bridge.seen.values.dropFirst(2) == ["handler 2", "observer 2"])
  }

  @Test func anEventForAllNamesIsPartOfABridge() {
    let (bridge, all) = (Bridge(one, center), Event(notifications: nil, center: center))
    all.compactMap(number).forward(to: bridge.event)
    post(one, 1)
    #expect(bridge.seen.values.sorted() == ["handler 1", "observer 1"])
    // A notification named `other` comes in through `all`, and goes out under the name `one`.
    post(other, 2)
    #expect(bridge.seen.values.dropFirst(2) == ["handler 2", "observer 2"])
  }

  @Test func aNotificationThatComesBackFromTheCenterDoesNotGoOutAgain() {
    let (bridge, again) = (Bridge(one, center), Event<Int>())
    bridge.heard.compactMap(number).forward(to: again)
    again.forward(to: center, as: one) { ["number": $0 + 10] }
    bridge.event.post(1)
    #expect(bridge.seen.values == ["handler 1", "observer 1"])
  }

  @Test func twoNamesAreTwoBridges() {
    let (ping, pong) = (Bridge(one, center), Bridge(other, center))
    for bridge in [ping, pong] { bridge.heard.compactMap(number).forward(to: bridge.event) }
    let (center, other) = (Unchecked(center), other)
    let answering = Observer(one, center.value) { number, _ in
      center.value.post(name: other, object: nil, userInfo: ["number": number + 1])
    }
    post(one, 1)
    #expect(ping.seen.values.sorted() == ["handler 1", "observer 1"])
    #expect(pong.seen.values.sorted() == ["handler 2", "observer 2"])
    ping.event.post(3)
    #expect(ping.seen.values.dropFirst(2).sorted() == ["handler 3", "observer 3"])
    #expect(pong.seen.values.dropFirst(2).sorted() == ["handler 4", "observer 4"])
    withExtendedLifetime(answering) {}
  }

  @Test func oneNameGoesOutUnderAnother() {
    let bridge = Bridge(one, center)
    let (event, heard) = (bridge.event, Event(notifications: other, center: center))
    heard.compactMap(number).forward(to: event)
    let token = event.forward(to: center, as: other) { ["number": $0] }
    let seen = Recorder<Int>()
    let observer = Observer(other, center) { number, _ in seen.record(number) }
    post(other, 1)
    #expect(bridge.seen.values == ["handler 1", "observer 1"] && seen.values == [1])
    event.remove(token)
    withExtendedLifetime((observer, heard)) {}
  }

  @Test func twoCentersAreBridgedByOneEvent() {
    let far = Unchecked(NotificationCenter())
    let bridge = Bridge(one, center)
    let (event, heardFar) = (bridge.event, Event(notifications: one, center: far.value))
    bridge.heard.compactMap(number).forward(to: event)
    heardFar.compactMap(number).forward(to: event)
    event.forward(to: far.value, as: one) { ["number": $0] }
    let seen = Recorder<String>()
    let observer = Observer(one, far.value) { number, _ in seen.record("far \(number)") }
    post(one, 1)
    #expect(bridge.seen.values.sorted() == ["handler 1", "observer 1"] && seen.values == ["far 1"])
    post(one, 2, to: far)
    #expect(bridge.seen.values.dropFirst(2).sorted() == ["handler 2", "observer 2"])
    #expect(seen.values == ["far 1", "far 2"])
    event.post(3)
    #expect(bridge.seen.values.dropFirst(4).sorted() == ["handler 3", "observer 3"])
    #expect(seen.values == ["far 1", "far 2", "far 3"])
    withExtendedLifetime(observer) {}
  }

  @Test func aNotificationThatWaitsInABusyEventKeepsItsPath() {
    let bridge = Bridge(one, center)
    bridge.heard.compactMap(number).forward(to: bridge.event)
    let (center, one) = (Unchecked(center), one)
    bridge.event.addHandler { number in
      // The event is busy with this call, so the payload of the notification waits in its mailbox.
      if number == 1 { center.value.post(name: one, object: nil, userInfo: ["number": 2]) }
    }
    bridge.event.post(1)
    #expect(bridge.seen.values.filter { $0.hasSuffix("1") } == ["handler 1", "observer 1"])
    #expect(bridge.seen.values.filter { $0.hasSuffix("2") } == ["observer 2", "handler 2"])
  }

  @Test func aNotificationThatALockHeldKeepsItsPath() async {
    let bridge = Bridge(one, center)
    let forward = bridge.heard.compactMap(number).forward(to: bridge.event)
    bridge.heard.lock(forward, holding: .oldest(10))
    post(one, 1)
    #expect(bridge.seen.values == ["observer 1"])
    bridge.heard.unlock(forward)
    await bridge.heard.quiesce()
    #expect(bridge.seen.values == ["observer 1", "handler 1"])
  }

  @Test func aPayloadSentByHandGoesOutAndDoesNotComeBack() async {
    let heard = Event(notifications: one, center: center)
    let seen = Recorder<Int>()
    let observer = Observer(one, center) { number, _ in seen.record(number) }
    heard.forward(to: center)
    let report = await heard.send(PostedNotification(one, userInfo: ["number": 1]))
    #expect(report.delivered == 1 && seen.values == [1])
    post(one, 2)
    #expect(seen.values == [1, 2])
    withExtendedLifetime(observer) {}
  }

  @Test func aForwardThatWouldPostAgainIsSkipped() async {
    let (event, heard) = (Event<Int>(), Event(notifications: one, center: center))
    let skips = SkippedCounter()
    event.forward(to: center, as: one) { ["number": $0] }
    heard.observe(with: skips)
    heard.forward(to: center)
    #expect(await event.send(1).delivered == 1)
    #expect(skips.count.value == 1)
  }

  @Test func theCenterIsReleasedAfterTheEvent() {
    weak var released: NotificationCenter?
    do {
      let far = NotificationCenter()
      released = far
      let heard = Event(notifications: one, center: far)
      heard.addHandler { _ in }
      heard.forward(to: far)
      far.post(name: one, object: nil)
    }
    #expect(released == nil)
  }
}

private final class SkippedCounter: EventObserver {
  let count = Counter()
  func observe(_ step: EventStep) { if step.kind == .skipped { count.add() } }
}

private let number: @Sendable (PostedNotification) -> Int? = { $0.userInfo?["number"] as? Int }

/// Safe: any thread may post to a notification center.
private struct Unchecked: @unchecked Sendable {
  let value: NotificationCenter
  init(_ value: NotificationCenter) { self.value = value }
}
