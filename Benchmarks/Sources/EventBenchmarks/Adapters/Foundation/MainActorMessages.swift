import BenchmarkKit
import Foundation

/// Returns NotificationCenter with typed messages and observers on the main actor, as a peer: a row
/// in the tables of the benchmarks.
func mainActorMessages() -> Peer {
  Peer(
    "notification-mainactor", "NotificationCenter MainActorMessage", .peer,
    mechanism: "on the main actor only; a lock, hash look-ups, a copy of the observers, an existential"
  ) {
    let center = NotificationCenter(), store = TokenStore<NotificationCenter.ObservationToken>()
    return Rig(
      add: { cells in
        await MainActor.run {
          for cell in cells { store.tokens.append(center.addObserver(for: MainActorValue.self) { cell.hit($0.value) }) }
        }
      },
      send: .async { @MainActor batch in for value in batch.values { center.post(MainActorValue(value: value)) } },
      addRemove: .async { @MainActor batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          center.removeObserver(center.addObserver(for: MainActorValue.self) { cell.hit($0.value) })
        }
      },
      replaceRandom: .async { @MainActor batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: store.tokens.count)
          center.removeObserver(store.tokens[index])
          store.tokens[index] = center.addObserver(for: MainActorValue.self) { cell.hit($0.value) }
        }
      },
      once: .async { @MainActor batch in
        let cell = batch.cell
        for value in batch.values {
          let own = TokenStore<NotificationCenter.ObservationToken>()
          own.tokens = [
            center.addObserver(for: MainActorValue.self) { message in
              own.tokens.popLast().map(center.removeObserver)
              cell.hit(message.value)
            }
          ]
          center.post(MainActorValue(value: value))
        }
      },
      close: { for token in store.tokens { center.removeObserver(token) } })
  }.with {
    $0.sendsOnMainActor = true
    $0.idleEvents = { count in (0..<count).map { _ in NotificationCenter() } }
  }
}

/// The payload of these notifications.
private struct MainActorValue: NotificationCenter.MainActorMessage {
  typealias Subject = NotificationSubject
  var value: Int
}
