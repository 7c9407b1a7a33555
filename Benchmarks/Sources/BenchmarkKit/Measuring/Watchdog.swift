import CMeasure

/// Ends the program when it makes no progress.
///
/// Without the watchdog, the harness would wait for ever for a peer that loses a delivery.
package enum Watchdog {
  /// Begins to watch: the program ends after `seconds` without progress.
  package static func start(seconds: Int) { cm_watchdog_start(Int32(seconds)) }

  /// Reports progress at `label`, or at the previous label if it is nil.
  static func kick(_ label: String? = nil) { cm_watchdog_kick(label) }
}
