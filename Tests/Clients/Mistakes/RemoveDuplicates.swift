// swift-format-ignore-file
// Payloads that only the main actor may compare.
// error in: OnMain OnMainApproachable Swift5OnMainApproachable
import Eventing

#if MENDED
  nonisolated struct Level: Equatable, Sendable { var decibels: Double }
#else
  struct Level: Equatable, Sendable { var decibels: Double }
#endif

func listen(to levels: Event<Level>) {
  levels.removeDuplicates().addHandler { level in print(level) }  // main actor-isolated conformance of 'Level' to 'Equatable' cannot satisfy conformance requirement for a 'Sendable' type parameter
}
