import CMeasure

/// Measures peers side by side. A peer is a library, or one way to use it. Each workload is an
/// extension in a file of its own.
package struct Harness {
  let configuration: Configuration
  let peers: [Peer]
  package let report: Report
  /// The rigs (live events) that are never closed. Closing a rig removes its handlers, and some
  /// libraries take minutes to remove 100,000.
  let graveyard = Graveyard()

  package init(configuration: Configuration, peers: [Peer], report: Report) {
    self.configuration = configuration
    self.peers = peers
    self.report = report
  }

  /// Measures a workload and adds its rows to the report.
  package func run(_ workload: Workload) async {
    report.begin(workload)
    for peer in peers where configuration.includes(peer, in: workload) {
      if let missing = peer.missing { report.remark("\(peer.label) is left out: \(missing)") }
    }
    switch workload {
    case .sending: await measureSending()
    case .addRemove: await measureAddRemove()
    case .replaceRandom: await measureReplaceRandom()
    case .addByPriority: await measureAddByPriority()
    case .once: await measureOnce()
    case .contention: await measureContention()
    case .mixed: await measureMixed()
    case .latency: await measureLatency()
    case .lanes: await measureLanes()
    case .memory: await measureMemory()
    case .flood: await measureFlood()
    case .backlog: await measureBacklog()
    case .scale: await measureScale()
    case .kinds: await measureKinds()
    case .mainQueue: await measureMainQueue()
    case .instructions: await measureInstructions()
    }
  }

  /// Returns the peers that take part, according to their own properties and the command line.
  func contenders(in workload: Workload) -> [Peer] {
    peers.filter { $0.missing == nil && configuration.includes($0, in: workload) }
  }

  /// Adds a row for a library that cannot take part. A lower bound (`Kind.limit`) gets no such row.
  func decline(_ workload: Workload, _ parameter: String, _ peer: Peer, because reason: String) {
    if peer.kind == .limit { return }
    var row = Row(workload, parameter, peer)
    row.status = .notApplicable
    row.note = reason
    report.add(row)
  }

  /// Returns the wall time and the CPU time of `body`, in nanoseconds.
  func timed(_ body: () async -> Void) async -> Sample {
    let cpu = cm_process_cpu(), wall = cm_now()
    await body()
    let end = cm_now()
    return Sample(wall: Double(end - wall), cpu: Double(cm_process_cpu() - cpu))
  }

  /// Adds up to `count` permanent handlers within `seconds`. Returns the number of added handlers.
  func attach(_ count: Int, to rig: Rig, _ block: CellBlock, seconds: Double, label: String) async -> Int {
    let cells = block.cells(count), start = cm_now()
    var done = 0
    while done < count, Double(cm_now() - start) < seconds * 1e9 {
      let next = min(count, done + 1_000)
      await rig.add(Array(cells[done..<next]))
      done = next
      Watchdog.kick("\(label): \(done) handlers added")
    }
    return done
  }
}

/// Keeps rigs alive until the program ends.
final class Graveyard {
  private var rigs: [Rig] = []
  func bury(_ rig: Rig) { rigs.append(rig) }
}
