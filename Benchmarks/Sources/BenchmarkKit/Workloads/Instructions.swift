import CMeasure
import Foundation

extension Harness {
  /// Counts the instructions of one operation with callgrind, over all threads.
  ///
  /// Other load on the machine does not change the counts.
  func measureInstructions() async {
    guard cm_on_valgrind(), let path = configuration.callgrindPath else {
      return report.say("# needs to run under callgrind, with --callgrind-output")
    }
    let callgrind = Callgrind(path: path)
    for peer in contenders(in: .instructions) {
      guard let makeRig = peer.makeRig else { continue }
      for handlers in configuration.sizes ?? [1, 8, 64] {
        await countSending(peer, await makeRig(), handlers: handlers, callgrind)
      }
      for others in [0, 1_000] { await countAddRemove(peer, await makeRig(), others: others, callgrind) }
      await countOnce(peer, await makeRig(), callgrind)
    }
    for peer in contenders(in: .instructions) {
      for kind in peer.kinds { await countKind(peer, kind, callgrind) }
    }
    for route in await liveRoutes(
      in: .instructions, where: \.runsUnderCallgrind,
      handler: { sink, route in sink.counter(isConcurrent: route.isConcurrent) })
    {
      await countDeliveries(route, callgrind)
    }
  }

  /// Counts the instructions of a delivery to a handler that runs elsewhere: those of the sender,
  /// and those on the handler's side.
  ///
  /// The count includes the work of threads that wake each other, so it varies from run to run.
  private func countDeliveries(_ route: LiveRoute, _ callgrind: Callgrind) async {
    let sink = route.sink
    await callgrind.count("a delivery elsewhere", route.peer, label: route.label, operations: 5_000, report) { count in
      sink.reset()
      await route.live.send.runOnOwnThread(Batch(cell: LiveRoute.noCell, first: 1, count: count))
      wait { sink.count == count }
    }
    await route.live.close()
  }

  private func countKind(_ peer: Peer, _ kind: EventKind, _ callgrind: Callgrind) async {
    let block = CellBlock()
    let send = await kind.make(block.cells(1)[0])
    await callgrind.count(kind.parameter, peer, label: kind.label, operations: 1_000, report) { count in
      await send.run(Batch(cell: block.passing, first: 1, count: count))
    }
  }

  private func countSending(_ peer: Peer, _ rig: Rig, handlers: Int, _ callgrind: Callgrind) async {
    let block = CellBlock()
    await rig.add(block.cells(handlers))
    let count = max(20, (peer.kind == .peer ? 1_000 : 2_000) / handlers)
    await callgrind.count(counted(handlers, "handler"), peer, operations: count, report) { count in
      block.reset()
      await rig.send.run(Batch(cell: block.passing, first: 1, count: count))
      let expected = payloadSum(first: 1, count: count) &* handlers
      if peer.returnsEarly { wait { block.sum(row: 0, columns: handlers) == expected } }
    }
    await rig.close()
  }

  private func countAddRemove(_ peer: Peer, _ rig: Rig, others: Int, _ callgrind: Callgrind) async {
    guard let addRemove = rig.addRemove else { return }
    let block = CellBlock()
    _ = await attach(others, to: rig, block, seconds: 60, label: "instructions, \(peer.id)")
    let parameter = "add and remove, \(counted(others, "other"))"
    await callgrind.count(parameter, peer, operations: others == 0 ? 200 : 50, report) { count in
      await addRemove.run(Batch(cell: block.passing, first: 1, count: count))
    }
    if others == 0 { await rig.close() } else { graveyard.bury(rig) }
  }

  private func countOnce(_ peer: Peer, _ rig: Rig, _ callgrind: Callgrind) async {
    guard let once = rig.once else { return }
    let block = CellBlock()
    await callgrind.count("once and send", peer, operations: 200, report) { count in
      block.reset()
      await once.run(Batch(cell: block.passing, first: 1, count: count))
      if peer.returnsEarly { wait { block.passingSum == payloadSum(first: 1, count: count) } }
    }
    await rig.close()
  }
}

/// Makes callgrind count instructions, and reads the counts that it writes.
private final class Callgrind {
  private let path: String
  private var dumps = 0

  init(path: String) { self.path = path }

  /// Adds a row with the instructions of one operation.
  ///
  /// The row shows the difference between the counts for `2 * operations` and for `operations`,
  /// divided by `operations`. So the instructions of the surrounding code cancel out.
  func count(
    _ parameter: String, _ peer: Peer, label: String? = nil, operations: Int, _ report: Report,
    _ body: (Int) async -> Void
  ) async {
    for _ in 0..<2 { await body(operations) }  // warm-up
    Watchdog.kick("instructions, \(parameter), \(peer.id)")
    let once = await instructions { await body(operations) }
    let twice = await instructions { await body(2 * operations) }
    var row = Row(.instructions, parameter, peer, label: label)
    row.unit = "instructions"
    row.batch = operations
    if let once, let twice { row.median = Double(twice - once) / Double(operations) }
    report.add(row)
  }

  private func instructions(_ body: () async -> Void) async -> Int? {
    cm_instructions_begin()
    await body()
    cm_instructions_end("section")
    dumps += 1
    guard let dump = try? String(contentsOfFile: "\(path).\(dumps)", encoding: .utf8) else { return nil }
    return dump.split(separator: "\n").first { $0.hasPrefix("totals:") }.flatMap { Int($0.split(separator: " ")[1]) }
  }
}
