import CMeasure

extension Harness {
  /// Measures bytes on the heap, block headers included, and counts allocations.
  ///
  /// Needs the preloaded allocation counter. The memory of the measurement itself does not count:
  /// neither the array of events nor the tokens.
  func measureMemory() async {
    guard cm_counts_allocations() else { return report.say("# needs the library AllocationCounter to be preloaded") }
    for peer in contenders(in: .memory) {
      Watchdog.kick("memory, \(peer.id)")
      cm_count_allocations(true)
      defer { cm_count_allocations(false) }
      var row = Row(.memory, "heap", peer)
      if let idleEvents = peer.idleEvents { await measureIdleEvents(idleEvents, &row) }
      if let makeRig = peer.makeRig {
        await measureHandlerBytes(await makeRig(), peer, &row)
        await measureAllocations(await makeRig(), peer, &row)
      }
      if row.extra.isEmpty { continue }
      row.unit = "bytes/handler"
      row.median = row.extra["handler_bytes"]
      report.add(row)
    }
  }

  private func measureIdleEvents(_ make: (Int) async -> Any, _ row: inout Row) async {
    let count = 20_000
    _ = await make(10)  // makes the runtime's one-time allocations
    let before = cm_allocations()
    let events = await make(count)
    let after = cm_allocations()
    let reference = Double(MemoryLayout<AnyObject>.stride)  // the size of an element of the array of events
    row.extra["event_bytes"] = Double(after.live_bytes - before.live_bytes) / Double(count) - reference
    row.extra["event_blocks"] = Double(after.live_blocks - before.live_blocks) / Double(count)
    blackHole(events)
  }

  /// Measures the bytes of a handler, at 100,000 handlers.
  ///
  /// Libraries that take too long to add so many are measured with fewer handlers.
  private func measureHandlerBytes(_ rig: Rig, _ peer: Peer, _ row: inout Row) async {
    let block = CellBlock(), step = 1_000, start = cm_now()
    _ = await attach(step, to: rig, block, seconds: 4, label: "memory, \(peer.id)")
    let all = block.cells(100_000)
    let slices = stride(from: 0, to: all.count, by: step).map { Array(all[$0..<($0 + step)]) }
    let before = cm_allocations()
    var added = 0
    for slice in slices where cm_now() - start < 12_000_000_000 {
      await rig.add(slice)
      added += slice.count
      Watchdog.kick("memory, \(peer.id): \(added) handlers added")
    }
    if peer.returnsEarly { cm_sleep(20_000) }
    let after = cm_allocations()
    withExtendedLifetime((all, slices)) {}  // a release between the two counts would distort them
    row.extra["handler_bytes"] = Double(after.live_bytes - before.live_bytes) / Double(added)
    row.extra["handler_blocks"] = Double(after.live_blocks - before.live_blocks) / Double(added)
    row.extra["handlers"] = Double(step + added)
    graveyard.bury(rig)
  }

  /// Counts the allocations of three operations: a send to 8 handlers; an add of a handler with its
  /// removal; and an add of a handler that is called once, with the send that calls it.
  private func measureAllocations(_ rig: Rig, _ peer: Peer, _ row: inout Row) async {
    let block = CellBlock(), handlers = 8, sends = 2_000
    await rig.add(block.cells(handlers))
    func send(_ count: Int) async {
      block.reset()
      await rig.send.run(Batch(cell: block.passing, first: 1, count: count))
      let expected = payloadSum(first: 1, count: count)
      if peer.returnsEarly { wait { block.sum(row: 0, columns: handlers) == expected &* handlers } }
      row.fail(block.mismatch(columns: handlers, expected: [expected]))
    }
    for _ in 0..<3 { await send(sends) }
    let (allocations, bytes) = await allocated(by: send, each: sends)
    row.extra["allocations_per_send"] = allocations
    row.extra["bytes_per_send"] = bytes
    if let addRemove = rig.addRemove {
      func change(_ count: Int) async { await addRemove.run(Batch(cell: block.passing, first: 1, count: count)) }
      await change(50)
      row.extra["allocations_per_pair"] = await allocated(by: change, each: 500).count
    }
    if let once = rig.once {
      func sendOnce(_ count: Int) async {
        await once.run(Batch(cell: block.passing, first: 1, count: count))
        if peer.returnsEarly { cm_sleep(10_000) }
      }
      await sendOnce(50)
      row.extra["allocations_per_once"] = await allocated(by: sendOnce, each: 200).count
    }
    await rig.close()
  }

  /// Returns the allocations of one operation.
  ///
  /// Each figure is the difference between the counts for `2 * count` and for `count` operations,
  /// divided by `count`. So the allocations of the surrounding code cancel out.
  private func allocated(by body: (Int) async -> Void, each count: Int) async -> (count: Double, bytes: Double) {
    let first = cm_allocations()
    await body(count)
    let second = cm_allocations()
    await body(2 * count)
    let third = cm_allocations()
    func each(_ counter: KeyPath<cm_allocation_counts, Int>) -> Double {
      Double(
        (third[keyPath: counter] - second[keyPath: counter]) - (second[keyPath: counter] - first[keyPath: counter]))
        / Double(count)
    }
    return (each(\.allocations), each(\.requested))
  }
}
