import Eventing

nonisolated struct PlayerID: Hashable, Sendable { var name: String }

nonisolated final class Field: Sendable {}

func keys() async {
  let moved = KeyedEvent<PlayerID, Double>("moved")
  let ada = PlayerID(name: "ada")
  moved[ada].addHandler { position in Log.shared.write("ada at \(position)") }
  moved.anyKey.addHandler { id, position in Log.shared.write("\(id.name) moved to \(position)") }
  moved.post(0.5, to: ada)
  await moved.send(1, to: PlayerID(name: "bob"))
  expect(Log.shared.take(), ["ada at 0.5", "ada moved to 0.5", "bob moved to 1.0"])

  // An object as the key.
  let field = Field()
  let touched = KeyedEvent<ObjectKey, Int>()
  touched[field].addHandler { touch in Log.shared.write("touch \(touch)") }
  touched.post(1, to: field)
  expect(Log.shared.take(), ["touch 1"])

  // Calls in order for each key.
  nonisolated struct Move: Equatable, Sendable { var player: PlayerID, position: Int }
  let moves = Event<Move>()
  moves.addHandler(.inOrder(by: \.player), on: .concurrent(limit: 4)) { move in
    Log.shared.write("\(move.player.name) \(move.position)")
  }
  for position in 0..<3 { moves.post(Move(player: ada, position: position)) }
  await moves.quiesce()
  expect(Log.shared.take(), ["ada 0", "ada 1", "ada 2"])

  // Changed values only.
  moves.removeDuplicates().addHandler { move in Log.shared.write("at \(move.position)") }
  for _ in 0..<2 { moves.post(Move(player: ada, position: 7)) }
  moves.removeAll()
  await moves.quiesce()
  expect(Log.shared.take().filter { $0.hasPrefix("at") }, ["at 7"])
}
