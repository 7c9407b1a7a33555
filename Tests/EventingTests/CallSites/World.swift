import Eventing

/// The call sites of the documentation, as users write them: compiled, and run by `CallSiteTests`.
enum CallSites {}

// The small world in which they are.
extension CallSites {
  final class Controller: Sendable {
    let updates = Recorder<Double>()
    func update(_ fraction: Double) { updates.record(fraction) }
  }

  struct Store: Sendable {
    let saved = Recorder<Double>()
    func save(_ fraction: Double) async throws { saved.record(fraction) }
  }

  struct Order: Sendable {
    var id = 1
  }

  struct Problem: Error {}

  actor Account {
    var n = 0.0
  }

  @MainActor final class ProgressView {
    var fraction = 0.0
  }

  final class NotSendable {
    var count = 0
  }

  static func work() async throws -> Int { 7 }
  static func log(_ values: Any?...) {}

  /// In place of the standard library's, so that the examples run in silence.
  static func print(_ values: Any?...) {}
}
