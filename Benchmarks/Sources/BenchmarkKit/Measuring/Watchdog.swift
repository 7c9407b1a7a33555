import CMeasure

/// Ends the program when it makes no progress: a peer that loses an event would be waited for for ever.
package enum Watchdog {
  package static func start(seconds: Int) { cm_watchdog_start(Int32(seconds)) }

  /// There is progress, at `label`; without one, where we were.
  static func kick(_ label: String? = nil) { cm_watchdog_kick(label) }
}
