// swift-format-ignore-file
// A key of calls in order, whose hash is that of the main actor.
// error in: OnMain OnMainApproachable Swift5OnMainApproachable
import Eventing

#if MENDED
  nonisolated struct PlayerID: Hashable, Sendable { var name: String }
#else
  struct PlayerID: Hashable, Sendable { var name: String }
#endif

nonisolated struct Move: Sendable { var player: PlayerID }

func listen(to moves: Event<Move>) {
  moves.addHandler(.inOrder(by: { move in move.player }), on: .concurrent(limit: 4)) { move async in print(move) }  // main actor-isolated conformance of 'PlayerID' to 'Hashable' cannot satisfy conformance requirement for a 'Sendable' type parameter
}
