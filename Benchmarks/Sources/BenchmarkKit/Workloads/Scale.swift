import CMeasure

extension Harness {
  /// Measures how time and memory grow with handlers, events, owners and threads.
  ///
  /// The figures are medians of a few repeats. The libraries run one after the other, not
  /// interleaved. Memory is the heap in use.
  func measureScale() async {
    let most = configuration.isQuick ? 10_000 : 1_000_000
    let sizes = (configuration.sizes ?? [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]).filter { $0 <= most }
    let peers = contenders(in: .scale)
    let inline = peers.filter { $0.kind == .subject || $0.kind == .peer && $0.idleEvents != nil && !$0.returnsEarly }
    let floor = peers.filter { $0.id == "loop-borrowing" }
    for size in sizes { for peer in floor + inline { await scaleHandlers(peer, size) } }
    for size in sizes where size >= 1_000 { for peer in peers { await scaleEvents(peer, size) } }
    for size in sizes where (1_000...100_000).contains(size) { for peer in peers { await scaleOwners(peer, size) } }
    for events in [1, 16] { for peer in inline { await scaleThreads(peer, 16, events: events) } }
  }

  private func scaleHandlers(_ peer: Peer, _ count: Int) async {
    guard let rig = await peer.makeRig?() else { return }
    var row = scaleRow(counted(count, "handler"), peer, unit: "ns/handler")
    let block = CellBlock(), heap = cm_heap_bytes(), start = cm_now()
    let added = await attach(count, to: rig, block, seconds: 20, label: "scale, \(peer.id)")
    guard added == count else {
      graveyard.bury(rig)
      return decline(.scale, counted(count, "handler"), peer, because: "adding them takes more than 20 s")
    }
    row.extra["making"] = Double(cm_now() - start) / Double(count)
    row.extra["bytes"] = Double(cm_heap_bytes() - heap) / Double(count)
    let sends = max(1, 200_000 / count)
    row.summarise(
      await repeats { index in
        block.reset()
        let sample = await timed {
          await rig.send.run(Batch(cell: block.passing, first: 1, count: sends))
          if peer.returnsEarly { wait { block.permanentSum == payloadSum(first: 1, count: sends) &* count } }
        }
        if block.permanentSum != payloadSum(first: 1, count: sends) &* count {
          row.fail("handlers got \(block.permanentSum)")
        }
        return sample.wall / Double(sends * count)
      })
    report.add(row)
    if peer.kind == .peer && count > 10_000 { graveyard.bury(rig) } else { await rig.close() }
  }

  private func scaleEvents(_ peer: Peer, _ count: Int) async {
    guard let many = peer.manyOf else { return }
    var row = scaleRow(counted(count, "event"), peer, unit: "ns/send")
    let block = CellBlock(), heap = cm_heap_bytes(), start = cm_now()
    let send = await many.events(count, block.passing)
    row.extra["making"] = Double(cm_now() - start) / Double(count)
    row.extra["bytes"] = Double(cm_heap_bytes() - heap) / Double(count)
    let sends = max(count, 200_000), expected = payloadSum(first: 1, count: sends)
    row.summarise(
      await repeats { _ in
        block.reset()
        let sample = await timed { await send.run(Batch(cell: block.passing, first: 1, count: sends)) }
        if block.passingSum != expected { row.fail("handlers got \(block.passingSum), expected \(expected)") }
        return sample.wall / Double(sends)
      })
    report.add(row)
  }

  private func scaleOwners(_ peer: Peer, _ count: Int) async {
    guard let many = peer.manyOf else { return }
    var row = scaleRow(counted(count, "owner"), peer, unit: "ns/handler")
    let block = CellBlock(), heap = cm_heap_bytes(), start = cm_now()
    let owned = await many.owners(count, block.passing)
    row.extra["making"] = Double(cm_now() - start) / Double(count)
    row.extra["bytes"] = Double(cm_heap_bytes() - heap) / Double(count)
    let sends = max(1, 200_000 / count), expected = payloadSum(first: 1, count: sends) &* count
    row.summarise(
      await repeats { _ in
        block.reset()
        let sample = await timed { await owned.send.run(Batch(cell: block.passing, first: 1, count: sends)) }
        if block.passingSum != expected { row.fail("handlers got \(block.passingSum), expected \(expected)") }
        return sample.wall / Double(sends * count)
      })
    block.reset()
    let going = await timed {
      owned.release()
      await owned.send.run(Batch(cell: block.passing, first: 1, count: 1))
    }
    row.extra["going"] = going.wall / Double(count)
    let remaining = await owned.remaining()
    if block.passingSum != 0 || remaining != 0 {
      row.fail("\(remaining) handlers remain without their owners; they received \(block.passingSum)")
    }
    report.add(row)
  }

  /// Measures threads that send to `events` events with 8 handlers each.
  ///
  /// Thread number i sends to event number `i % events`.
  private func scaleThreads(_ peer: Peer, _ threads: Int, events: Int, handlers: Int = 8) async {
    guard let makeRig = peer.makeRig else { return }
    var senders: [(rig: Rig, block: CellBlock, send: @Sendable (Batch) -> Void)] = []
    for _ in 0..<events {
      let rig = await makeRig(), block = CellBlock()
      guard case .sync(let send) = rig.send else { return }
      await rig.add(block.cells(handlers))
      senders.append((rig, block, send))
    }
    let count = peer.sendCap == nil ? 20_000 : 2_000, all = senders
    let place = "\(threads) threads on \(counted(events, "event"))"
    var row = scaleRow(place, peer, unit: "ns/send")
    row.summarise(
      await repeats { _ in
        for sender in all { sender.block.reset() }
        let batches = (0..<threads).map {
          Batch(cell: all[0].block.passing, first: payload(sender: $0, sequence: 1), count: count)
        }
        let expected = batches.map { payloadSum(first: $0.first, count: count) }
        func isThere(_ thread: Int) -> Bool {
          all[thread % events].block.sum(row: thread, columns: handlers) == expected[thread] &* handlers
        }
        let sends = all.map(\.send)
        let sample = await timed {
          await onOwnThread { _ = runThreads(threads) { sends[$0 % events](batches[$0]) } }
          if peer.returnsEarly { wait { (0..<threads).allSatisfy(isThere) } }
        }
        if let missing = (0..<threads).first(where: { !isThere($0) }) {
          row.fail("the sends of thread \(missing) did not arrive once each")
        }
        return sample.wall / Double(threads * count)
      })
    report.add(row)
    for sender in all { await sender.rig.close() }
  }

  private func scaleRow(_ parameter: String, _ peer: Peer, unit: String) -> Row {
    Watchdog.kick("scale, \(parameter), \(peer.id)")
    var row = Row(.scale, parameter, peer)
    row.unit = unit
    return row
  }

  /// Repeats a measurement, and returns all results but the first, which is the warm-up.
  private func repeats(_ body: (Int) async -> Double) async -> [Double] {
    var samples: [Double] = []
    for index in 0...(configuration.isQuick ? 2 : 7) {
      Watchdog.kick()
      let sample = await body(index)
      if index > 0 { samples.append(sample) }
    }
    return samples
  }
}
