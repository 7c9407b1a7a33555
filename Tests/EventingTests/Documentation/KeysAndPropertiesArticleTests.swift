import Eventing
import Observation
import Testing

/// Runs the examples of the article "Keys and properties".
@Suite(.fewAtATime) struct KeysAndPropertiesArticleTests {
  typealias Touch = Int
  final class View: Sendable {}

  final class Player { @Observed var volume = 0.5 }
  final class Mixer: Sendable { let gain = Observed(0.5) }

  @MainActor final class VolumeView {
    var volume = 0.0 { didSet { seen.append(volume) } }
    private(set) var seen: [Double] = []
  }

  @Observable @MainActor final class Model { var items = [1, 2] }

  @Test func keys() async {
    let moved = KeyedEvent<String, Double>()
    moved["ada"].addHandler { position in print(position) }
    moved.post(0.5, to: "ada")

    #expect(await moved.send(0.5, to: "ada").delivered == 1)
    #expect(await moved.send(0.5, to: "bob").reachedNobody)
  }

  // swift-format-ignore
  @Test func objectsAsKeys() {
    let (view, touch) = (View(), 7)
    let (shown, noted) = (Recorder<Touch>(), Recorder<Bool>())
    @Sendable func show(_ touch: Touch) { shown.record(touch) }
    @Sendable func note(_ key: ObjectKey, _ touch: Touch) { noted.record(key.object != nil) }

    let didTouch = KeyedEvent<ObjectKey, Touch>()
    didTouch[view].addHandler { touch in show(touch) }              // sent to this view
    didTouch.anyKey.addHandler { key, touch in note(key, touch) }   // sent to any view
    didTouch.untargeted.addHandler { touch in show(touch) }         // sent to none
    didTouch.post(touch, to: view)
    didTouch.untargeted.post(touch)

    #expect(shown.values == [7, 7])
    #expect(noted.values == [true])
    withExtendedLifetime(view) {}
  }

  @Test func failures() async {
    let rooms = KeyedEvent<String, Int>("rooms", onFailure: .removeHandler(afterFailures: 3))
    rooms.deadLetters.addHandler { letter in print(letter.payload.key, letter.failure) }
    rooms.unhandled.addHandler { occurrence in print("nobody in", occurrence.payload.key) }

    #expect(await rooms.send(1, to: "lobby").reachedNobody)
  }

  // swift-format-ignore
  @Test func properties() async {
    let (player, mixer, view) = (Player(), Mixer(), VolumeView())
    let changes = Recorder<String>()
    player.$volume.changes().addHandler { changes.record("\($0)") }

    player.$volume.addHandler(on: .main, owner: view) { view, volume in view.volume = volume }   // 0.5, then 0.7
    player.$volume.changes().addHandler { change in print(change) }                              // 0.5 → 0.7
    player.volume = 0.7
    mixer.gain.update { gain in gain *= 2 }

    #expect(changes.values == ["0.5 → 0.7"])
    #expect(mixer.gain.value == 1)
    await player.$volume.quiesce()
    #expect(await view.seen == [0.5, 0.7])
  }

  @Test func observableObjects() async {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let (model, counts) = (await Model(), Recorder<Int>())

    let count = Event(observing: { @MainActor in model.items.count })
    count.addHandler { count in print(count) }

    count.addHandler { counts.record($0) }
    await MainActor.run { model.items.append(3) }
    #expect(await eventually { counts.values.last == 3 })
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "KeysAndPropertiesArticleTests")
    let code = try Documentation.examples(Documentation.article("KeysAndProperties.md"))
    #expect(code.count == 6)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in KeysAndPropertiesArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
