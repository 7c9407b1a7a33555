import Eventing

/// The rings of the traces of this process that have not ended. An inspection reads the durations
/// of calls from these rings.
enum RunningTraces {
  private static let state = Guarded<[TraceRing]>([])

  static var rings: [TraceRing] { state.withLock { rings in rings.map { ring in ring } } }

  static func insert(_ ring: TraceRing) { state.withLock { $0.append(ring) } }

  static func remove(_ ring: TraceRing) { state.withLock { rings in rings.removeAll { $0 === ring } } }
}
