import Eventing
import Testing

/// Tests of the event of a protocol type: it has the payloads of all types that conform.
@Suite(.fewAtATime) struct ProtocolTypeTests {
  protocol Alarm: Sendable { var name: String { get } }
  protocol Loud<Volume>: Sendable { associatedtype Volume }
  struct Fire: Alarm, Loud {
    typealias Volume = Int
    var name = "fire"
  }
  struct Flood: Alarm { var name = "flood" }
  final class Owner: Sendable {}

  @Test func aHandlerOfAProtocolTypeHearsWhatIsPostedAsIt() async {
    let (bus, heard) = (EventBus(), Recorder<String>())
    bus.post(Flood())  // before the first handler
    bus.event(for: (any Alarm).self).addHandler { heard.record($0.name) }
    let alarm: any Alarm = Fire()
    bus.post(alarm)  // goes to the event of `Fire`
    #expect(await bus.send(alarm).delivered == 1)
    bus.post(Flood())  // through an event that was there before
    bus.post(7)
    bus.event(for: (any Alarm).self).post(Flood(name: "by name"))
    bus.post(Flood(name: "as such") as any Alarm)  // not opened
    await bus.quiesce()
    #expect(heard.values == ["fire", "fire", "flood", "by name", "as such"])
  }

  @Test func everyVerbOfTheEventSeesConformingPayloads() async throws {
    let (bus, heard, owner) = (EventBus(), Recorder<String>(), Owner())
    bus.event(for: (any Alarm).self).addHandler(owner: owner) { _, alarm async in heard.record(alarm.name) }
    bus.event(for: (any Loud<Int>).self).addHandler(.once) { _ in heard.record("loud") }
    let next = bus.event(for: (any Alarm).self).payloads()
    #expect(await bus.send(Fire()).delivered > 0)
    await bus.send(Fire(name: "second"))
    #expect(heard.values.sorted() == ["fire", "loud", "second"])
    #expect(await next.first { _ in true }?.name == "fire")
    bus.finish()
    bus.post(Fire(name: "after the end"))
    await bus.quiesce()
    #expect(heard.count == 3)
    withExtendedLifetime(owner) {}
  }

  @Test func aHandlerForAllPayloadsHearsEachOnce() async {
    let (bus, heard) = (EventBus(), Recorder<String>())
    bus.event(for: (any Alarm).self).addHandler { _ in }
    bus.event(for: (any Loud<Int>).self).addHandler { _ in }
    bus.all(as: (any Alarm).self).addHandler { heard.record($0.name) }
    bus.post(Fire())
    bus.post(Flood() as any Alarm)
    await bus.quiesce()
    #expect(heard.values == ["fire", "flood"])
  }

  @Test func concreteTypesAndClassesHaveNoForwards() {
    class Animal: @unchecked Sendable {}
    final class Dog: Animal, @unchecked Sendable {}
    let (bus, heard) = (EventBus(), Recorder<String>())
    bus.event(for: Animal.self).addHandler { _ in heard.record("animal") }
    bus.event(for: Fire?.self).addHandler { _ in heard.record("optional") }
    bus.event(for: Fire.self).addHandler { _ in heard.record("fire") }
    bus.post(Dog())
    bus.post(Fire())
    #expect(heard.values == ["fire"])
    #expect(bus.event(for: Fire.self).handlerCount == 1)
  }
}
