import Eventing

/// The call sites of the documentation, as users write them. `CallSiteTests` compile and run them.
enum CallSites {}

// The types and functions that the call sites use.
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

  /// Replaces the standard library's function, so that the examples print nothing.
  static func print(_ values: Any?...) {}
}
