import BenchmarkKit

/// Tests the harness: it must mark every deliberately broken library as wrong.
enum SelfTest {
  /// Measures the broken libraries: the peers of `brokenPeers()`, each with one planted fault.
  /// Returns whether the harness detected all of them.
  static func run() async throws -> Bool {
    var configuration = Configuration()
    configuration.isQuick = true
    configuration.rounds = 5
    configuration.sizes = [8]
    let report = Report(path: nil), peers = brokenPeers()
    let harness = Harness(configuration: configuration, peers: peers, report: report)
    for workload in [Workload.sending, .addRemove, .once] { await harness.run(workload) }
    let found = Set(report.rows.filter { $0.status == .wrong }.map(\.peer))
    let missed = peers.map(\.id).filter { !found.contains($0) }
    print(
      missed.isEmpty
        ? "All \(peers.count) broken libraries were detected." : "Not detected: \(missed.joined(separator: ", "))")
    return missed.isEmpty
  }

  // Safe: one thread uses it.
  private final class BrokenBus: @unchecked Sendable {
    var handlers: [Body] = []
    private var sends = 0
    /// Counts a send, and returns whether this send must fail: every 997th does.
    func isWrongTurn() -> Bool {
      sends += 1
      return sends.isMultiple(of: 997)
    }
    func call(_ value: Int, dropping: Int = 0) { for handler in handlers.dropFirst(dropping) { handler(value) } }
  }

  private static func brokenPeers() -> [Peer] {
    [
      broken("loses-a-send") { bus, value in if !bus.isWrongTurn() { bus.call(value) } },
      broken("calls-twice") { bus, value in
        bus.call(value)
        if bus.isWrongTurn() { bus.handlers.last?(value) }
      },
      broken("changes-the-payload") { bus, value in bus.call(bus.isWrongTurn() ? value + 1 : value) },
      broken("skips-a-handler") { bus, value in bus.call(value, dropping: bus.isWrongTurn() ? 1 : 0) },
      broken("does-not-remove", keepsRemoved: true) { bus, value in bus.call(value) },
      broken("calls-once-handlers-again", keepsOnce: true) { bus, value in bus.call(value) },
    ]
  }

  private static func broken(
    _ id: String, keepsRemoved: Bool = false, keepsOnce: Bool = false,
    send: @escaping @Sendable (BrokenBus, Int) -> Void
  ) -> Peer {
    let most = 3_000  // the maximum number of handlers that are left behind
    return Peer(id, id, .peer, mechanism: "deliberately broken") {
      let bus = BrokenBus()
      return Rig(
        add: { cells in for cell in cells { bus.handlers.append { cell.hit($0) } } },
        send: .sync { batch in for value in batch.values { send(bus, value) } },
        addRemove: .sync { batch in
          let cell = batch.cell
          for _ in 0..<batch.count {
            bus.handlers.append { cell.hit($0) }
            if !keepsRemoved || bus.handlers.count > most { bus.handlers.removeLast() }
          }
        },
        once: .sync { batch in
          let cell = batch.cell
          for value in batch.values {
            bus.handlers.append { cell.hit($0) }
            send(bus, value)
            if !keepsOnce || bus.handlers.count > most { bus.handlers.removeLast() }
          }
        })
    }
  }
}
