import BenchmarkKit
import EventingLocal

/// Returns the peer for local events, to compare with the bare loop of `loopLimits()`.
func localEventPeers() -> [Peer] {
  let local = Peer("eventing-local", "Eventing local post", .subject, mechanism: "inside one isolation; no lock") {
    let bus = LocalBus()
    return Rig(
      add: { cells in for cell in cells { bus.event.addHandler(perform: hitting(cell)) } },
      send: .sync { batch in for value in batch.values { bus.send(value) } },
      addRemove: .sync { batch in
        let body = hitting(batch.cell)
        for _ in 0..<batch.count { bus.event.remove(bus.event.addHandler(perform: body)) }
      },
      once: .sync { batch in
        let body = hitting(batch.cell)
        for value in batch.values {
          bus.event.addHandler(.once, perform: body)
          bus.send(value)
        }
      })
  }
  return [
    local.with {
      $0.workloads = [.sending, .memory, .instructions]
      $0.isThreadSafe = false
      $0.idleEvents = { count in (0..<count).map { _ in LocalBus() } }
    }
  ]
}

/// A local event that the harness may pass between threads.
// Safe: one thread at a time uses it.
private final class LocalBus: @unchecked Sendable {
  let event = LocalEvent<Int>()
  @inline(never) func send(_ value: Int) { event.post(value) }
}
