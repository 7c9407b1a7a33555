import Eventing
import EventingFoundation
import Foundation
import Observation
import Testing

// swift-format-ignore
// A key says what its event carries.
extension EventKey where Payload == User { static let didLogin = EventKey("didLogin") }

struct User: Sendable { var name = "Ada" }

extension Notification.Name {
  static let didSave = Notification.Name("ReadmeTests.didSave")
  static let didProgress = Notification.Name("ReadmeTests.didProgress")
}

extension ReadmeTests {
  struct OrderPlaced: Sendable { var id: Int }
  final class Player { @Observed var volume = 0.5 }

  @Test func sequencesAndReplay() async throws {
    let progress = Event<Double>()
    let sender = Task {
      _ = await eventually { progress.handlerCount == 1 }
      for number in 1...4 { progress.post(Double(number) / 4) }
      progress.removeAll()
      _ = await eventually { progress.handlerCount == 1 }
      progress.post(0.75)
    }

    // As a sequence, with a bound; the next one that fits; what a newcomer is told of what was sent before.
    for await fraction in progress.payloads(buffering: .newest(16)) { print(fraction) }
    let half = try await progress.next(within: .seconds(2)) { fraction in fraction >= 0.5 }
    let volume = Event("volume", replaying: .current(0.5))

    #expect(half == 0.75)
    #expect(volume.latest == 0.5)
    await sender.value
  }

  // swift-format-ignore
  @Test func watching() async {
    let progress = Event<Double>()

    // Watch: what reached nobody; slow handlers, and too many of them. `observeNewEvents()` watches whatever is made from now on.
    progress.unheard.addHandler { occurrence in print("nobody took", occurrence) }
    progress.observe(with: EventDiagnostics(slowerThan: .seconds(1), moreHandlersThan: 100) { finding in print(finding) })

    #expect(await progress.send(0.5).reachedNobody)
  }

  @Test func manyAddresses() async {
    // One event, many addresses: any Hashable value, or an object, which is held weakly.
    let moved = KeyedEvent<String, Double>()
    moved["ada"].addHandler { position in print(position) }
    moved.post(0.5, to: "ada")

    #expect(await moved.send(0.5, to: "ada").delivered == 1)
    #expect(await moved.send(0.5, to: "bob").reachedNobody)
  }

  // swift-format-ignore
  @Test func forwardsInterceptorsAndBoundArguments() async {
    let progress = Event<Double>()
    let percent = Event<Int>()
    let controller = Controller()
    let percents = Recorder<Int>()
    percent.addHandler(on: .background) { percents.record($0) }   // waited for, too

    // Forward, with a transform; keep an occurrence from the handlers after it, which a priority puts there; bind arguments to a method.
    progress.forward(to: percent) { fraction in fraction < 0 ? nil : Int(fraction * 100) }
    progress.intercept(priority: 10) { fraction in fraction > 1 ? .stop : .proceed }
    progress.addHandler(Controller.log, of: controller, with: "disk", 3)   // func log(_: Double, _: String, _: Int)

    #expect(await progress.send(0.5).delivered == 3)
    #expect(await progress.send(2).skipped == 2)
    await progress.send(-1)
    #expect(percents.values == [50])
    #expect(controller.logged.values == ["0.5 disk 3", "-1.0 disk 3"])
  }

  @Test func views() async {
    let progress = Event<Double>()

    // Listen to what a closure makes of it.
    progress.map { fraction in Int(fraction * 100) }.addHandler { percent in print(percent, "%") }
    progress.filter { fraction in fraction == 1 }.once { _ in print("done") }

    #expect(await progress.send(0.5).skipped == 1)
    #expect(await progress.send(1).delivered == 2)
    #expect(progress.handlerCount == 1)
  }

  // swift-format-ignore
  @Test func eventsThatAreFound() async throws {
    let (bus, account) = (EventBus(), Account())

    // Find an event by what it carries, or by an owner and a key; `bus` is `EventBus()`, or `EventBus.shared`.
    bus.addHandler(for: OrderPlaced.self) { order in print(order.id) }
    bus.post(OrderPlaced(id: 1))
    try bus.event(.didLogin, of: account).addHandler { user in print(user) }

    #expect(await bus.send(OrderPlaced(id: 2)).delivered == 1)
    #expect(await (try bus.event(.didLogin, of: account)).send(User()).delivered == 1)
  }

  // swift-format-ignore
  @Test func properties() async {
    let (player, view) = (Player(), VolumeView())
    let changes = Recorder<String>()
    player.$volume.addHandler { changes.record("\($0)") }

    // A property whose changes are an event: `@Observed var volume = 0.5`, or `let volume = Observed(0.5)` in a Sendable class.
    player.$volume.addHandler { change in print(change) }          // 0.5 → 0.7
    player.$volume.currentValues.addHandler(on: .main, owner: view) { view, volume in view.volume = volume }
    player.volume = 0.7

    #expect(changes.values == ["0.5 → 0.7"])
    await player.$volume.quiesce()
    #expect(await view.seen == [0.5, 0.7])
  }

  @MainActor final class VolumeView {
    var volume = 0.0 { didSet { seen.append(volume) } }
    private(set) var seen: [Double] = []
  }

  @Observable @MainActor final class Model { var items = [1, 2] }

  // swift-format-ignore
  @Test func observableObjects() async {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let (model, counts) = (await Model(), Recorder<Int>())

    // What is computed from `@Observable` objects; several changes between two looks come as one. (macOS 26, iOS 26, Linux.)
    let count = Event(observing: { @MainActor in model.items.count })
    count.addHandler { count in print(count) }

    count.addHandler { counts.record($0) }
    await MainActor.run { model.items.append(3) }
    #expect(await eventually { counts.values.last == 3 })
  }

  @Test func notifications() {
    let progress = Event<Double>()
    let document = Controller()
    let seen = Recorder<String>()

    // Notifications, in and out; an event listens as long as you hold it.
    let saved = Event(notifications: .didSave, object: document)
    saved.addHandler { notification in print(notification) }
    progress.forward(to: .default, as: .didProgress) { fraction in ["fraction": fraction] }

    saved.addHandler { seen.record($0.name.rawValue) }
    NotificationCenter.default.post(name: .didSave, object: document)
    NotificationCenter.default.post(name: .didSave, object: nil)
    #expect(seen.values == ["ReadmeTests.didSave"])

    let posted = Event(notifications: .didProgress)
    posted.addHandler { seen.record("\($0.userInfo?["fraction"] as? Double ?? 0)") }
    progress.post(0.5)
    #expect(seen.values == ["ReadmeTests.didSave", "0.5"])
  }
}
