import Eventing

// The suites of this folder test that the library has what AFFEvent, IKEvents and emitter-kit have.
// Tests/PARITY.md has the features of these libraries. The display name of a test begins with the
// number of a row there.

/// An owner whose methods can be handlers.
final class Meter: Sendable {
  let readings = Recorder<Int>()
  let notes = Recorder<String>()
  private let canary: Canary

  init(_ live: LiveCount = LiveCount()) { canary = Canary(live) }

  func read(_ value: Int) { readings.record(value) }
  func note(_ value: Int, _ factor: Int, _ unit: String) { notes.record("\(value * factor) \(unit)") }
  func noteLater(_ value: Int, _ factor: Int, _ unit: String) async { note(value, factor, unit) }
  @MainActor func noteOnMain(_ value: Int, _ factor: Int, _ unit: String) { note(value, factor, unit) }
}

/// An object that is equal to every other object of its type, but not identical to it.
final class Lookalike: Hashable, Sendable {
  static func == (a: Lookalike, b: Lookalike) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}

/// The error that handlers throw in these tests.
struct Mishap: Error, Equatable {
  var number = 0
}
