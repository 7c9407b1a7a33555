// swift-format-ignore-file
// A key whose hash is that of the main actor.
// error in: OnMain OnMainApproachable Swift5OnMainApproachable
import Eventing

#if MENDED
  nonisolated struct PlayerID: Hashable, Sendable { var name: String }
#else
  struct PlayerID: Hashable, Sendable { var name: String }
#endif

func listen(to player: PlayerID) {
  let moved = KeyedEvent<PlayerID, Double>("moved")  // main actor-isolated conformance of 'PlayerID' to 'Hashable' cannot satisfy conformance requirement for a 'Sendable' type parameter 'Key'
  moved.post(0.5, to: player)
}
