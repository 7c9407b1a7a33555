import Eventing

/// The rings of traces that have not ended. An inspection reads durations from them.
enum RunningTraces {
  private static let state = Guarded<[TraceRing]>([])

  static var rings: [TraceRing] { state.withLock { rings in rings.map { ring in ring } } }

  static func insert(_ ring: TraceRing) { state.withLock { $0.append(ring) } }

  static func remove(_ ring: TraceRing) { state.withLock { rings in rings.removeAll { $0 === ring } } }
}
