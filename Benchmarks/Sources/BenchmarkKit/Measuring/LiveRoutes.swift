import CMeasure

/// A route with the sink that its handler writes to.
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
  /// Returns every wanted route of every peer that takes part, each with a handler of its own.
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
