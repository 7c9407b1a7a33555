import CMeasure

/// A route (one way in which a peer delivers payloads to a handler that does not run inline), after
/// the handler was added. The handler records the payloads in `sink`.
struct LiveRoute {
  let peer: Peer
  let route: Route
  let live: Route.Live
  let sink: RouteSink

  var label: String { "\(peer.label) / \(route.label)" }
  /// A cell for batches that add no handler. Nothing writes to it.
  static let noCell = Cell(.allocate(capacity: 1))
}

extension Harness {
  /// Returns the wanted routes of all peers that take part in the workload, each with a handler of
  /// its own.
  ///
  /// A peer is a library, or one way to use it. A route is one way in which the peer delivers
  /// payloads to a handler that does not run inline.
  func liveRoutes(
    in workload: Workload, where isWanted: (Route) -> Bool = { _ in true },
    handler: (RouteSink, Route) -> @Sendable (Int) -> Void
  ) async -> [LiveRoute] {
    var routes: [LiveRoute] = []
    for peer in contenders(in: workload) {
      for route in peer.routes where isWanted(route) {
        Watchdog.kick("\(workload.name), \(peer.id), \(route.label): setting up")
        let sink = RouteSink()
        routes.append(LiveRoute(peer: peer, route: route, live: await route.make(handler(sink, route)), sink: sink))
      }
    }
    return routes
  }
}
