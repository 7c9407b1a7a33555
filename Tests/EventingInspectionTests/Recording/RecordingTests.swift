import Eventing
import EventingInspection
import EventingTesting
import Foundation
import Testing

struct RecordedOrder: Codable, Sendable, Equatable {
  var id: Int
  var note = "a \"note\"\nof two lines"
}

/// Tests of guarantee S8: what is recorded is what was sent, in order.
@Suite struct RecordingTests {
  private let file = TemporaryFile()

  private var lines: [[String: any Sendable]] {
    get throws {
      try file.text.split(separator: "\n").map { line in
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: any Sendable])
      }
    }
  }

  @Test func aRecordingHasAllOccurrencesInOneOrder() async throws {
    let (orders, cancelled) = (Event<RecordedOrder>("orders"), Signal("cancelled"))
    let moved = KeyedEvent<String, Double>("moved")
    let recording = try EventRecording(to: file.path)
    recording.record(orders, as: "orders")
    recording.record(signal: cancelled, as: "cancelled")
    recording.record(moved, as: "moved")
    orders.post(RecordedOrder(id: 1))
    await cancelled.send()
    moved.post(0.5, to: "a")
    orders.post(RecordedOrder(id: 2))
    #expect(try await recording.end() == 4)
    orders.post(RecordedOrder(id: 3))
    let lines = try lines
    #expect(lines[0]["recording"] as? Int == 1)
    let occurrences = lines.filter { $0["n"] != nil }
    #expect(occurrences.map { $0["n"] as? Int } == [1, 2, 3, 4])
    #expect(occurrences.map { $0["as"] as? String } == ["orders", "cancelled", "moved", "orders"])
    #expect(occurrences.map { $0["sequence"] as? Int } == [1, 1, 1, 2])
    #expect(occurrences[1]["payload"] is NSNull)
    #expect(occurrences[2]["key"] as? String == "a")
    #expect((occurrences[3]["payload"] as? [String: any Sendable])?["id"] as? Int == 2)
    #expect(lines.last?["end"] as? Bool == true)
    #expect(lines.last?["count"] as? Int == 4)
    let types = lines.filter { $0["event"] != nil }
    #expect(types.map { $0["event"] as? String } == ["orders", "cancelled", "moved"])
  }

  @Test func aRecordingIsNoHandler() async throws {
    let event = Event<Int>()
    let unheard = EventRecorder(event.unhandled)
    let recording = try EventRecording(to: file.path)
    recording.record(event, as: "numbers")
    let report = await event.send(1)
    #expect(report.delivered == 0)
    #expect(event.handlerCount == 0)
    try await unheard.expect(1)
    #expect(try await recording.end() == 1)
  }

  @Test func sendersAndCausesAreNumbered() async throws {
    final class Sender: Sendable {}
    let (first, second) = (Sender(), Sender())
    let (asked, answered) = (Event<Int>(), Event<Int>())
    asked.addHandler { number in answered.post(number * 10) }
    asked.addHandler(on: .background) { number in answered.post(number * 100) }
    let recording = try EventRecording(to: file.path)
    recording.record(asked, as: "asked")
    recording.record(answered, as: "answered")
    await asked.send(1, from: first)
    await asked.send(2, from: second)
    await asked.send(3, from: first)
    await answered.quiesce()
    try await recording.end()
    withExtendedLifetime((first, second)) {}
    let occurrences = try lines.filter { $0["n"] != nil }
    let asks = occurrences.filter { $0["as"] as? String == "asked" }
    #expect(asks.map { $0["sender"] as? Int } == [1, 2, 1])
    #expect(asks.allSatisfy { $0["cause"] is NSNull })
    let numbers = Dictionary(
      uniqueKeysWithValues: asks.map { (($0["payload"] as? Int) ?? 0, ($0["n"] as? Int) ?? 0) })
    let answers = occurrences.filter { $0["as"] as? String == "answered" }
    #expect(answers.count == 6)
    for answer in answers {
      let payload = try #require(answer["payload"] as? Int)
      let asked = payload % 100 == 0 ? payload / 100 : payload / 10
      #expect(answer["cause"] as? Int == numbers[asked], "\(payload)")
      #expect(answer["sender"] is NSNull)
    }
  }

  /// Three events deliver at the same time. Each delivery encodes its payload as a line of the one
  /// recording, so the encodings race.
  @Test func linesOfRacingEventsAreWholeAndNumbered() async throws {
    let events = (0..<3).map { Event<Int>("\($0)") }
    let recording = try EventRecording(to: file.path)
    for (number, event) in events.enumerated() {
      event.addHandler(on: .background) { _ in }
      recording.record(event, as: "\(number)") { payload in
        spend(payload)
        return payload
      }
    }
    await withTaskGroup { group in
      for worker in 0..<4 {
        group.addTask { for number in 0..<500 { await events[(worker + number) % 3].send(worker * 1_000 + number) } }
      }
    }
    #expect(try await recording.end() == 2_000)
    let occurrences = try lines.filter { $0["n"] != nil }
    #expect(occurrences.map { $0["n"] as? Int } == Array(1...2_000))
    for name in ["0", "1", "2"] {
      let sequences = occurrences.filter { $0["as"] as? String == name }.compactMap { $0["sequence"] as? Int }
      #expect(sequences == Array(1...sequences.count))
    }
    #expect(Set(occurrences.compactMap { $0["payload"] as? Int }).count == 2_000)
  }

  @Test func theFileIsPrivateAndReplaced() async throws {
    try file.write("something else\n")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
    try await EventRecording(to: file.path).end()
    let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try lines.first?["recording"] as? Int == 1)
  }

  @Test func aLinkIsReplacedAndNotFollowed() async throws {
    let target = TemporaryFile()
    try target.write("precious")
    try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: target.path)
    try await EventRecording(to: file.path).end()
    #expect(try target.text == "precious")
  }

  @Test(arguments: ["", "/", "/nonexistent/folder/file", "/dev/null"]) func badPathsAreRefused(path: String) {
    #expect(throws: InspectionError.self) { try EventRecording(to: path) }
    #expect(FileManager.default.fileExists(atPath: "/dev/null"))
  }

  @Test func anErrorOfEncodingEndsTheRecordingAndIsThrown() async throws {
    let event = Event<Double>()
    let recording = try EventRecording(to: file.path)
    recording.record(event, as: "numbers")
    for number in [1, 2, .nan, 4] { event.post(number) }
    await #expect(throws: EncodingError.self) { try await recording.end() }
    await #expect(throws: EncodingError.self) { try await recording.end() }
    let target = Event<Double>()
    let recorder = EventRecorder(target)
    let outcome = try await EventPlayback(file.path).run(at: .asFastAsPossible, into: ["numbers": .event(target)])
    #expect(outcome.sentCount == 2)
    #expect(!outcome.isComplete)
    try await recorder.expect([1, 2])
  }

  @Test func manySendersHaveANumberEach() async throws {
    final class Sender: Sendable {}
    let event = Event<Int>()
    let recording = try EventRecording(to: URL(fileURLWithPath: file.path))
    recording.record(event, as: "numbers")
    let kept = Sender()
    for number in 0..<200 {
      event.post(number, from: Sender())
      event.post(number, from: kept)
    }
    try await recording.end()
    let senders = try lines.filter { $0["n"] != nil }.compactMap { $0["sender"] as? Int }
    #expect(senders.count == 400 && Set(senders).count == 201)
    #expect(Set(stride(from: 1, to: 400, by: 2).map { senders[$0] }).count == 1)
  }

  @Test func aNameIsTakenOnce() async throws {
    let (first, second) = (Event<Int>(), Event<Int>())
    let recording = try EventRecording(to: file.path)
    recording.record(first, as: "numbers")
    recording.record(second, as: "numbers")
    first.post(1)
    second.post(2)
    first.post(3)
    let error = await #expect(throws: InspectionError.self) { try await recording.end() }
    #expect(error?.description.contains("numbers") == true)
    let occurrences = try lines.filter { $0["n"] != nil }
    #expect(occurrences.map { $0["payload"] as? Int } == [1, 3])
  }

  @Test func aFullDiskIsTold() async throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    let event = Event<Int>()
    let recording = try EventRecording(appendingTo: "/dev/full")
    recording.record(event, as: "numbers")
    event.post(1)
    let error = await #expect(throws: InspectionError.self) { try await recording.end() }
    #expect(error?.description.contains("No space left") == true)
  }

  @Test func aDroppedRecordingIsWhole() async throws {
    let event = Event<Int>()
    do {
      let recording = try EventRecording(to: file.path)
      recording.record(event, as: "numbers")
      event.post(1)
      withExtendedLifetime(recording) {}
    }
    event.post(2)
    let lines = try lines
    #expect(lines.last?["count"] as? Int == 1)
  }
}

/// Spends a time that depends on a number, so that racing deliveries do not end in the order in
/// which they began.
private func spend(_ number: Int) {
  var sum = 0
  for turn in 0..<(number * 7_919 % 1_000) { sum &+= turn }
  #expect(sum >= 0)
}
