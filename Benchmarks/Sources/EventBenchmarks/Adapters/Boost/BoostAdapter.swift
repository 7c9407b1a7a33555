import BenchmarkKit
import BoostSignals

/// Returns the peer for boost::signals2, the most common thread-safe signals of C++. It stands for
/// the libraries that are not written in Swift.
func boostPeers() -> [Peer] {
  let signals = Peer(
    "boost", "C++ boost::signals2", .peer,
    mechanism: "a shared list that is copied when it changes during a send; a lock for each handler"
  )
  guard boost_signals_are_there() else { return [signals.with { $0.missing = "libboost-dev is not installed" }] }
  return [
    signals.with {
      $0.idleEvents = { count in
        for _ in 0..<count { boost_signal_make() }
        // The harness subtracts the memory of an array of events from the memory that it measures.
        // So this closure returns an array of that size, although the signals are not in it.
        return [AnyObject?](repeating: nil, count: count)
      }
      $0.makeRig = { boostRig(BoostEvent()) }
    }
  ]
}

private func boostRig(_ event: BoostEvent) -> Rig {
  Rig(
    add: { cells in
      for cell in cells { event.with { boost_event_add($0, cell.address, Cell.shift) } }
      event.count += cells.count
    },
    send: .sync { batch in event.with { boost_event_send($0, batch.first, batch.count) } },
    addRemove: .sync { batch in event.with { boost_event_add_remove($0, batch.cell.address, Cell.shift, batch.count) }
    },
    replaceRandom: .sync { batch in
      var victims = VictimPicker(seed: batch.first)
      for _ in 0..<batch.count {
        let index = victims.pick(below: event.count)
        event.with { boost_event_replace($0, batch.cell.address, Cell.shift, index) }
      }
    },
    once: .sync { batch in event.with { boost_event_once($0, batch.cell.address, Cell.shift, batch.first, batch.count) }
    },
    ranked: Rig.Ranked(
      add: { cells in
        for (index, cell) in cells.enumerated() {
          event.with { boost_event_add_ranked($0, cell.address, Cell.shift, index) }
        }
      },
      addRemove: .sync { batch in
        event.with { boost_event_add_remove_ranked($0, batch.cell.address, Cell.shift, batch.count, batch.first) }
      }))
}

/// Owns a signal.
// Safe: any thread may use the signal. The harness uses `count`, and the connections that the C++
// object stores, from one thread at a time.
private final class BoostEvent: @unchecked Sendable {
  private let event = boost_event_make()!
  var count = 0

  func with(_ body: (OpaquePointer) -> Void) { body(event) }
  deinit { boost_event_free(event) }
}
