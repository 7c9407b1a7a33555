import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Each key has one word of a subject, and each word stands for one key or for none.
@Suite(.timeLimit(.minutes(10))) struct KeyWordTests {
  /// A key becomes the last word of the subject, with some characters escaped. Other programs may
  /// publish to any subject. So they may write a last word that no key becomes, such as `%61` for
  /// the key "a". Then an incident reports the message.
  @Test func aSecondNameOfAKeyIsNoKey() throws {
    try simulate(1...3) { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteKeyedEvent<String, Int>("numbers", over: bus)
      let (keys, incidents) = (Notes<String>(), Notes<TransportIncident>())
      bus.incidents.addHandler { incidents.note($0) }
      event.anyKey.addHandler { keys.note($0.key) }
      try await event.listen()
      // "%61" is a second name of "a", "%2F" of "/", and "%e" has one digit too few.
      for word in ["a", "%61", "%2f", "%2F", "%", "%25", "%e", "%ff"] {
        _ = try await bus.publish(RemoteMessage(body: Array("1".utf8)), to: "numbers.\(word)")
      }
      try await clock.sleep(for: .seconds(1))
      try require(keys.values == ["a", "/", "", "%"], "\(keys.values)")
      try require(
        incidents.values.map(\.subject) == ["%61", "%2F", "%e", "%ff"].map { "numbers.\($0)" }, "\(incidents.values)")
    }
  }
}
