import Eventing
import EventingFoundation
import Foundation
import Testing

/// Tests of features 105, 106 and 109 of AFFEvent, IKEvents and emitter-kit: bridges, dependencies.
///
/// Feature 107 is tested in `SequenceTests`, and feature 108 in `NextTests`.
@Suite(.fewAtATime) struct BridgeRows {
  let center = NotificationCenter()
  let name = Notification.Name("saved")

  @Test("105: notifications come in filtered by name and object")
  func notificationsComeInFilteredByNameAndObject() {
    let (mine, others) = (Meter(), Meter())
    let event = Event(notifications: name, object: mine, center: center)
    let seen = Recorder<String>()
    event.addHandler { notification in seen.record(notification.userInfo?["title"] as? String ?? "") }
    center.post(name: name, object: mine, userInfo: ["title": "a"])
    center.post(name: name, object: others, userInfo: ["title": "b"])
    center.post(name: Notification.Name("closed"), object: mine, userInfo: ["title": "c"])
    #expect(seen.values == ["a"])
  }

  @Test("105: listening ends with the event")
  func listeningEndsWithTheEvent() {
    let (center, live) = (center, LiveCount())
    do {
      let (event, canary) = (Event(notifications: name, center: center), Canary(live))
      event.addHandler { _ in canary.sing() }
      withExtendedLifetime(event) { center.post(name: name, object: nil) }
    }
    center.post(name: name, object: nil)
    #expect(live.alive == 0)
  }

  @Test("105: occurrences go out as notifications")
  func occurrencesGoOutAsNotifications() {
    let (event, sender) = (Event<Int>(), Meter())
    let seen = Recorder<String>()
    let observer = center.addObserver(forName: name, object: sender, queue: nil) { notification in
      seen.record("\(notification.name.rawValue) \(notification.userInfo?["count"] as? Int ?? 0)")
    }
    let token = event.forward(to: center, as: name, object: sender) { ["count": $0] }
    event.post(1)
    event.remove(token)
    event.post(2)
    #expect(seen.values == ["saved 1"])
    center.removeObserver(observer)
  }

  @Test("106: changes of a property are an event")
  func changesOfAPropertyAreAnEvent() {
    final class Player { @Observed var volume = 1 }
    let (player, seen) = (Player(), Recorder<ValueChange<Int>>())
    let token = player.$volume.changes().addHandler { seen.record($0) }
    player.volume = 2
    player.volume += 1
    player.$volume.remove(token)
    player.volume = 4
    #expect(seen.values == [ValueChange(old: 1, new: 2), ValueChange(old: 2, new: 3)])
  }

  static let told: [(initial: Bool, prior: Bool, [String])] = [
    (false, false, ["1 → 2"]),
    (true, false, ["– → 1", "1 → 2"]),
    (false, true, ["before 1 → 2", "1 → 2"]),
    (true, true, ["– → 1", "before 1 → 2", "1 → 2"]),
  ]

  @Test("106: options select the calls for a change", arguments: told)
  func optionsSelectTheCallsForAChange(initial: Bool, prior: Bool, told: [String]) {
    let volume = Observed(1)
    let seen = Recorder<String>()
    volume.changes(initial: initial, prior: prior).addHandler { seen.record($0.description) }
    volume.value = 2
    #expect(seen.values == told)
  }

  @Test("106: a property may be in a Sendable class")
  func aPropertyMayBeInASendableClass() async {
    final class Mixer: Sendable { let gain = Observed(0) }
    let (mixer, seen) = (Mixer(), Recorder<Int?>())
    mixer.gain.changes().addHandler { seen.record($0.new) }
    await onThreads(4) { _ in for _ in 0..<250 { mixer.gain.update { $0 += 1 } } }
    await mixer.gain.quiesce()
    #expect(mixer.gain.value == 1_000)
    #expect(seen.values == Array(1...1_000))
  }

  #if canImport(ObjectiveC)
    @Test("106: key paths of Objective-C objects are observed")
    func keyPathsOfObjectiveCObjectsAreObserved() {
      let (player, seen) = (KeyValuePlayer(), Recorder<ValueChange<Int>>())
      let event = Event(observing: player, \.volume)
      event.addHandler { seen.record($0) }
      player.volume = 2
      #expect(seen.values == [ValueChange(old: 1, new: 2)])
    }
  #endif

  @Test("109: the package has no dependencies and its core no Foundation")
  func thePackageHasNoDependenciesAndItsCoreNoFoundation() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
    let package = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
    #expect(package.contains("swift-tools-version: 6"))
    #expect(!package.contains(".package("))
    let core = root.appending(path: "Sources/Eventing")
    let files = try #require(FileManager.default.enumerator(at: core, includingPropertiesForKeys: nil)).compactMap {
      $0 as? URL
    }
    let sources = files.filter { $0.pathExtension == "swift" }
    #expect(sources.count > 30)
    for source in sources {
      let text = try String(contentsOf: source, encoding: .utf8)
      #expect(!text.contains("import Foundation"), "\(source.lastPathComponent)")
    }
  }
}

#if canImport(ObjectiveC)
  private final class KeyValuePlayer: NSObject {
    @objc dynamic var volume = 1
  }
#endif
