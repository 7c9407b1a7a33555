import Eventing
import EventingInspection
import EventingTesting
import Foundation
import Testing

/// Tests of guarantee S8: a replay sends what was recorded, and names the lines that it cannot
/// read.
@Suite struct ReplayTests {
  private let file = TemporaryFile()
  private let header = #"{"recording":1,"epoch":1}"#

  private func line(
    _ number: Int, _ name: String, _ payload: String, cause: String = "null", at seconds: Int? = nil
  ) -> String {
    #"{"n":\#(number),"t":\#((seconds ?? number) * 1_000_000_000),"as":"\#(name)","sequence":\#(number),"sender":null,"#
      + #""cause":\#(cause),"payload":\#(payload)}"#
  }

  private func write(_ lines: [String], isCut: Bool = false) throws {
    try file.write(lines.joined(separator: "\n") + (isCut ? "" : "\n"))
  }

  @Test func everyKindOfEventComesBack() async throws {
    let recording = try EventRecording(to: file.path)
    do {
      let (orders, cancelled) = (Event<RecordedOrder>(), Signal())
      let (moved, resized) = (KeyedEvent<String, Double>(), Event<(Int, Int)>())
      recording.record(orders, as: "orders")
      recording.record(cancelled, as: "cancelled")
      recording.record(moved, as: "moved")
      recording.record(resized, as: "resized") { width, height in [width, height] }
      orders.post(RecordedOrder(id: 1))
      cancelled.post()
      moved.post(0.5, to: "a")
      resized.post((3, 4))
      orders.post(RecordedOrder(id: 2))
      try await recording.end()
    }
    let (orders, cancelled) = (Event<RecordedOrder>(), Signal())
    let (moved, resized) = (KeyedEvent<String, Double>(), Event<(Int, Int)>())
    let log = Event<String>()
    let recorder = EventRecorder(log)
    orders.addHandler { order in log.post("order \(order.id) \(order.note.count)") }
    cancelled.addHandler { log.post("cancelled") }
    moved["a"].addHandler { place in log.post("a \(place)") }
    resized.addHandler { width, height in log.post("\(width) x \(height)") }
    let outcome = try await EventPlayback(file.path).run(
      at: .asFastAsPossible,
      into: [
        "orders": .event(orders), "cancelled": .signal(cancelled), "moved": .event(moved),
        "resized": .event(resized) { (sides: [Int]) in (sides[0], sides[1]) },
      ])
    #expect(outcome.sentCount == 5)
    #expect(outcome.damaged.isEmpty)
    #expect(outcome.isComplete)
    try await recorder.expect(["order 1 21", "cancelled", "a 0.5", "3 x 4", "order 2 21"])
  }

  @Test func noErrorContainsAPayload() async throws {
    enum Token: String, Codable, Sendable { case known }
    try write([
      header, #"{"event":"tokens","type":"Token"}"#, line(1, "tokens", #""the secret""#),
      line(2, "tokens", #"{"n":"the secret"}"#), #"{"as":"tokens","t":"the secret"}"#,
    ])
    let target = Event<Token>()
    let error = await #expect(throws: InspectionError.self) {
      try await EventPlayback(file.path).run(at: .asFastAsPossible, into: ["tokens": .event(target)])
    }
    #expect(error.map { "\($0)".contains("secret") } == false)
    let replay = try EventPlayback(file.path, damaged: .skip)
    let outcome = try await replay.run(at: .asFastAsPossible, into: ["tokens": .event(target)])
    #expect(outcome.damaged.count == 3 && outcome.damaged.allSatisfy { !$0.reason.contains("secret") })
  }

  /// Checks payloads that a handler of a recorded event sent. During the replay that handler sends
  /// them again, so the replay leaves them out. With `withCaused` the replay sends them, too; then
  /// the test adds no handler, so that each payload is sent once.
  @Test(arguments: [false, true]) func whatHandlersSentIsLeftOut(withCaused: Bool) async throws {
    let recording = try EventRecording(to: file.path)
    do {
      let (asked, answered) = (Event<Int>(), Event<Int>())
      asked.addHandler { number in answered.post(number * 10) }
      recording.record(asked, as: "asked")
      recording.record(answered, as: "answered")
      for number in 1...3 { asked.post(number) }
      answered.post(7)
      #expect(try await recording.end() == 7)
    }
    let (asked, answered) = (Event<Int>(), Event<Int>())
    let recorder = EventRecorder(answered)
    if !withCaused { asked.addHandler { number in answered.post(number * 10) } }
    let outcome = try await EventPlayback(file.path).run(
      at: .asFastAsPossible, into: ["asked": .event(asked), "answered": .event(answered)], withCaused: withCaused)
    #expect(outcome.sentCount == (withCaused ? 7 : 4))
    try await recorder.expect([10, 20, 30, 7])
    try await recorder.expectNone()
  }

  /// Forwarded payloads, posts with a delay, and posts that a handler makes for a held occurrence
  /// are recorded with a cause. So the replay does not send them: the handlers do.
  @Test func forwardsLaterPostsAndHeldOccurrencesAreCauses() async throws {
    func program() -> (asked: Event<Int>, passed: Event<Int>, later: Event<Int>, token: HandlerToken) {
      let (asked, passed, later) = (Event<Int>("asked"), Event<Int>("passed"), Event<Int>("later"))
      asked.forward(to: passed)
      let token = passed.addHandler { number in later.post(number * 10, after: .milliseconds(1)) }
      return (asked, passed, later, token)
    }
    let recording = try EventRecording(to: file.path)
    do {
      let (asked, passed, later, token) = program()
      let recorder = EventRecorder(later)
      recording.record(asked, as: "asked")
      recording.record(passed, as: "passed")
      recording.record(later, as: "later")
      asked.post(1)
      passed.lock(token, holding: .latest)
      asked.post(2)
      passed.unlock(token)
      try await recorder.expect([10, 20])
      #expect(try await recording.end() == 6)
    }
    let (asked, passed, later, _) = program()
    let recorder = EventRecorder(later)
    let outcome = try await EventPlayback(file.path).run(
      at: .asFastAsPossible, into: ["asked": .event(asked), "passed": .event(passed), "later": .event(later)])
    #expect(outcome.sentCount == 2)
    try await recorder.expect([10, 20])
  }

  /// A post has a cause even if the way to it goes through an event or a value that is not
  /// recorded, or through a handler of a failure.
  @Test func unrecordedWaysHandTheCauseOn() async throws {
    struct Refusal: Error {}
    func program() -> (orders: Event<Int>, mails: Event<String>, others: (Event<Int>, Observed<Int>)) {
      let (orders, mails) = (Event<Int>("orders"), Event<String>("mails"))
      let (checked, total) = (Event<Int>("checked"), Observed(0))
      orders.forward(to: checked)
      checked.addHandler { id async in mails.post("checked \(id)") }
      checked.addHandler { id in mails.post("checked at once \(id)", after: .milliseconds(1)) }
      orders.addHandler(on: .background) { id in total.value = id }
      total.newValues.addHandler(on: .background) { id in mails.post("total \(id)") }
      orders.addHandler { _ throws in throw Refusal() }
      orders.addHandler { _ async throws in throw Refusal() }
      orders.failures.addHandler { _ in mails.post("failure") }
      orders.deadLetters.addHandler(on: .background) { letter in mails.post("letter \(letter.payload)") }
      orders.addHandler { id async in Task { mails.post("task \(id)") } }
      orders.addHandler { id in Task { mails.post("task of an inline handler \(id)") } }
      return (orders, mails, (checked, total))
    }
    let mails = [
      "checked 7", "checked at once 7", "total 7", "failure", "failure", "letter 7", "letter 7", "task 7",
      "task of an inline handler 7",
    ].sorted()
    let recording = try EventRecording(to: file.path)
    do {
      let made = program()
      let recorder = EventRecorder(made.mails)
      recording.record(made.orders, as: "orders")
      recording.record(made.mails, as: "mails")
      made.orders.post(7)
      #expect(try await recorder.expect(mails.count).sorted() == mails)
      #expect(try await recording.end() == 1 + mails.count)
    }
    let made = program()
    let recorder = EventRecorder(made.mails)
    let outcome = try await EventPlayback(file.path).run(
      at: .asFastAsPossible, into: ["orders": .event(made.orders), "mails": .event(made.mails)])
    #expect(outcome.sentCount == 1)
    #expect(try await recorder.expect(mails.count).sorted() == mails)
  }

  @Test(arguments: [1.0, 4.0, -1, 1e-300]) func timesAreThoseOfTheRecording(factor: Double) throws {
    try write([header, line(1, "numbers", "1"), line(3, "numbers", "2"), line(7, "numbers", "3")])
    let file = file
    try Simulation.run(seed: 5) {
      let clock = Simulation.clock
      let start = clock.now
      let event = Event<Int>()
      let times = Event<Duration>()
      let recorder = EventRecorder(times)
      event.addHandler { _ in times.post(start.duration(to: clock.now)) }
      try await EventPlayback(file.path).run(at: .times(factor), into: ["numbers": .event(event)], clock: clock)
      let speed = factor > 0 ? factor : 1
      // No pause is longer than about a hundred years.
      let longest = Duration.seconds(3.2e9)
      try await recorder.expect([1, 3, 7].map { seconds in speed < 1e-9 ? longest : .seconds(seconds) / speed })
    }
  }

  /// Two simulations of a replay with one seed have one schedule.
  @Test func aReplayInASimulationRepeats() throws {
    try write([header] + (1...20).map { line($0, $0 % 2 == 0 ? "a" : "b", "\($0)", at: 0) })
    let file = file
    func log(_ seed: UInt64) throws -> [String] {
      let log = Event<String>()
      let recorder = EventRecorder(log)
      try Simulation.run(seed: seed) {
        let (a, b) = (Event<Int>(), Event<Int>())
        for (name, event) in [("a", a), ("b", b)] {
          event.addHandler(on: .task) { number in
            await Task.yield()
            log.post("\(name) \(number)")
          }
        }
        try await EventPlayback(file.path).run(
          at: .asRecorded, into: ["a": .event(a), "b": .event(b)], clock: Simulation.clock)
      }
      return recorder.payloads
    }
    let first = try log(3)
    #expect(first.count == 20)
    #expect(try log(3) == first)
    #expect(try (4...12).contains { try log($0) != first })
  }

  @Test func sendersAreObjectsOfTheReplay() async throws {
    let lines = [(1, "1"), (2, "2"), (3, "1"), (4, "null")].map { number, sender in
      line(number, "numbers", "\(number)").replacingOccurrences(of: #""sender":null"#, with: #""sender":\#(sender)"#)
    }
    try write([header] + lines)
    let event = Event<Int>()
    let recorder = EventRecorder(event.occurrences.map { occurrence in occurrence.sender.map { ObjectIdentifier($0) } })
    try await EventPlayback(file.path).run(at: .asFastAsPossible, into: ["numbers": .event(event)])
    let senders = recorder.payloads
    #expect(senders.count == 4)
    #expect(senders[0] != nil && senders[0] == senders[2] && senders[0] != senders[1] && senders[3] == nil)
  }

  struct Damaged: Sendable, CustomTestStringConvertible {
    let name: String
    let line: String
    let code: InspectionError.Code
    var testDescription: String { name }
  }

  static let damages = [
    Damaged(name: "half a line", line: #"{"n":2,"t":"#, code: .damagedLine),
    Damaged(name: "no object", line: "[1]", code: .damagedLine),
    Damaged(name: "nothing known", line: "{}", code: .damagedLine),
    Damaged(
      name: "another payload", line: #"{"n":2,"t":2,"as":"numbers","sequence":2,"payload":"text"}"#, code: .damagedLine),
    Damaged(name: "no payload", line: #"{"n":2,"t":2,"as":"numbers","sequence":2}"#, code: .damagedLine),
    Damaged(
      name: "another event", line: #"{"n":2,"t":2,"as":"others","sequence":2,"payload":1}"#, code: .noTarget),
  ]

  @Test(arguments: damages) func damageIsNamedAndRefused(damaged: Damaged) async throws {
    try write([header, line(1, "numbers", "1"), damaged.line, line(3, "numbers", "3")])
    let event = Event<Int>()
    let recorder = EventRecorder(event)
    let error = await #expect(throws: InspectionError.self) {
      try await EventPlayback(file.path).run(at: .asFastAsPossible, into: ["numbers": .event(event)])
    }
    #expect(error?.code == damaged.code)
    #expect(error?.line == 3)
    try await recorder.expectNone()
  }

  @Test(arguments: damages) func damageIsListedAndSkipped(damaged: Damaged) async throws {
    try write([header, line(1, "numbers", "1"), damaged.line, line(3, "numbers", "3")])
    let event = Event<Int>()
    let recorder = EventRecorder(event)
    let outcome = try await EventPlayback(file.path, damaged: .skip).run(
      at: .asFastAsPossible, into: ["numbers": .event(event)])
    #expect(outcome.damaged.map(\.line) == [3])
    #expect(outcome.sentCount == 2)
    try await recorder.expect([1, 3])
  }

  /// Line 3 (number 2) is damaged, and number 7 is missing, so the replay sends neither payload.
  /// Unless `withCaused` is true, the replay also leaves out the occurrences that these two caused,
  /// and names the two as causes.
  @Test(arguments: [false, true]) func causesThatAreNotSentAreNamed(withCaused: Bool) async throws {
    try write([
      header, line(1, "numbers", "1"), line(2, "numbers", "\"two\""), line(3, "numbers", "3", cause: "1"),
      line(4, "numbers", "4", cause: "2"), line(5, "numbers", "5", cause: "4"), line(6, "numbers", "6", cause: "3"),
      line(8, "numbers", "8", cause: "7"), line(9, "numbers", "9"),
    ])
    let event = Event<Int>()
    let recorder = EventRecorder(event)
    let outcome = try await EventPlayback(file.path, damaged: .skip).run(
      at: .asFastAsPossible, into: ["numbers": .event(event)], withCaused: withCaused)
    #expect(outcome.damaged.map(\.line) == [3])
    #expect(outcome.lostCauses.map(\.cause) == (withCaused ? [] : [2, 7]))
    #expect(outcome.lostCauses.map(\.count) == (withCaused ? [] : [2, 1]))
    try await recorder.expect(withCaused ? [1, 3, 4, 5, 6, 8, 9] : [1, 9])
  }

  @Test func aRecordingThatWasCutReplaysItsWholeLines() async throws {
    try write([header, line(1, "numbers", "1"), line(2, "numbers", "2"), #"{"n":3,"t":3,"as":"num"#], isCut: true)
    #expect(throws: InspectionError.self) { try EventPlayback(file.path) }
    let event = Event<Int>()
    let outcome = try await EventPlayback(file.path, damaged: .skip).run(
      at: .asFastAsPossible, into: ["numbers": .event(event)])
    #expect(outcome.sentCount == 2)
    #expect(outcome.damaged.map(\.line) == [4])
    #expect(!outcome.isComplete)
  }

  @Test(arguments: [
    (#"{"recording":2}"#, InspectionError.Code.version), ("nonsense", .damagedLine), ("", .damagedLine),
  ])
  func anotherHeaderIsRefused(header: String, code: InspectionError.Code) throws {
    try write([header])
    for damaged in [EventPlayback.Damage.skip, .refuse] {
      let error = #expect(throws: InspectionError.self) { try EventPlayback(file.path, damaged: damaged) }
      #expect(error?.code == code)
      #expect(error?.line == 1)
    }
  }

  @Test func aMissingFileIsNamed() {
    let error = #expect(throws: InspectionError.self) { try EventPlayback("/nonexistent/recording") }
    #expect(error?.description.contains("/nonexistent/recording") == true)
  }

  @Test func namesWithoutATargetOnPurposeAreLeftOut() async throws {
    try write([header, line(1, "numbers", "1"), line(2, "others", "true")])
    let event = Event<Int>()
    let outcome = try await EventPlayback(file.path).run(
      at: .asFastAsPossible, into: ["numbers": .event(event), "others": .nothing])
    #expect(outcome.sentCount == 1)
    #expect(outcome.damaged.isEmpty)
  }

  @Test func unknownMembersAreIgnored() async throws {
    try write([header, line(1, "numbers", "1").replacingOccurrences(of: #""n":1"#, with: #""new":{"x":1},"n":1"#)])
    let event = Event<Int>()
    let outcome = try await EventPlayback(file.path).run(at: .asFastAsPossible, into: ["numbers": .event(event)])
    #expect(outcome.sentCount == 1)
  }
}
