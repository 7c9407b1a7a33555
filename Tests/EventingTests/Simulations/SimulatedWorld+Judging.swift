import Eventing

extension SimulatedWorld {
  /// Ends all locks, quiesces the event, and checks the calls, the reports and the lifetimes.
  ///
  /// - Throws: The first violation.
  func finish() async throws {
    isClosing = true
    for number in handlers.indices where handlers[number].isLocked { toggleLock(number) }
    if isEventLocked { toggleGate() }
    await send(8)  // at the latest, this send releases the handlers of released owners
    await quiesceAll()
    if handlers.contains(where: { $0.place == .oldest }) { await judgeRoom() }
    if violation == nil { judgeCalls() }
    if violation == nil { judgeReports() }
    await judgeLifetimes()
    if let violation { throw violation }
  }

  /// Checks that a bound of zero leaves room for an occurrence that comes when none waits.
  private func judgeRoom() async {
    let last = sends.count
    await send(8)
    for handler in handlers where handler.place == .oldest && handler.removeCall == nil && !handler.isOnce {
      if handler.calls.last?.send ?? 0 < last { fail("G15: handler \(handler.number) had no room for \(last)") }
    }
    await quiesceAll()
  }

  /// Quiesces the event, and does so again if handlers have sent more meanwhile.
  private func quiesceAll() async {
    var count = -1
    while count < sends.count {
      count = sends.count
      await event.quiesce()
      if mode.kind == .bus { await aside.quiesce() }
    }
  }

  private func judgeCalls() {
    let order = Dictionary(uniqueKeysWithValues: handlers[0].calls.enumerated().map { ($1.send, $0) })
    for handler in handlers {
      let places = handler.calls.compactMap { order[$0.send] }
      if handler.place.isInOrder, places != places.sorted() {
        return fail("G1, G13: handler \(handler.number) saw \(handler.calls.map(\.send))")
      }
      for sender in 0..<16 {
        let own = handler.calls.map(\.send).filter {
          sends[$0].sender == sender % 8 && sends[$0].isAside == (sender >= 8)
        }
        if handler.place.isInOrder, own != own.sorted() {
          return fail("G2: handler \(handler.number) saw \(own) of sender \(sender)")
        }
      }
      judgeKeys(handler)
      judgeDuplicates(handler)
      guard handler.removeCall == nil else { continue }
      let due = sends.indices.filter { send in
        handler.addReturn < sends[send].call && isFor(handler, sends[send])
          && (mode.holds || !handler.mutes.contains { $0.off > sends[send].call })
      }
      let getsAll = mode.holds || handler.mutes.isEmpty
      if handler.place.isPaced, !handler.isOnce, getsAll, let last = handlers[0].calls.last?.send,
        handler.addReturn < sends[last].call, !handler.calls.contains(where: { $0.send == last })
      {
        return fail("H6: handler \(handler.number) missed the last occurrence, \(last)")
      }
      if handler.hearsAnnouncements, getsAll, !handler.announced.isSuperset(of: due) {
        return fail("G21: handler \(handler.number) heard of \(handler.announced.sorted()), not of \(due)")
      }
      let missing = due.filter { send in !mayMiss(handler, send) && !handler.calls.contains { $0.send == send } }
      if handler.isOnce ? handler.calls.isEmpty && !due.isEmpty : !missing.isEmpty {
        return fail("G6, G21: \(missing) never reached handler \(handler.number), \(handler.place)")
      }
    }
  }

  /// Returns whether a payload is sent to a handler, if the handler is there.
  private func isFor(_ handler: Suspect, _ send: Send) -> Bool {
    (handler.address == nil || handler.address == send.address) && (!send.isAside || handler.place.isForAll)
  }

  /// Returns whether a bound, a pace or a view may keep an occurrence from a handler.
  private func mayMiss(_ handler: Suspect, _ send: Int) -> Bool {
    switch handler.place {
    case .oldest: true
    case .suspending: sends[send].report == nil
    case .distinct, .distinctInBackground: send % 2 == 1 && handler.calls.contains { $0.send == send - 1 }
    default: handler.place.isPaced
    }
  }

  private func judgeDuplicates(_ handler: Suspect) {
    guard handler.place.isDistinct, mode.holds || handler.mutes.isEmpty else { return }
    let pairs = handler.calls.map { $0.send / 2 }
    if zip(pairs, pairs.dropFirst()).contains(where: ==) {
      fail("H12: handler \(handler.number) saw \(handler.calls.map(\.send))")
    }
  }

  private func judgeKeys(_ handler: Suspect) {
    guard handler.place.isKeyed else { return }
    let order = Dictionary(uniqueKeysWithValues: handlers[0].calls.enumerated().map { ($1.send, $0) })
    for key in 0..<2 {
      let places = handler.calls.map(\.send).filter { $0 % 2 == key }.compactMap { order[$0] }
      if places != places.sorted() { fail("H7: handler \(handler.number) saw \(handler.calls.map(\.send))") }
    }
  }

  private func judgeReports() {
    for (number, send) in sends.enumerated() {
      guard let report = send.report else { continue }
      let calls = handlers.reduce(0) { $0 + $1.calls.count { $0.send == number } }
      let ended = report.delivered + report.failures.count
      // A report may count a call of a handler for all payloads that another event has used up.
      let uncalled = handlers.count { $0.place.isForAll && $0.isOnce }
      if ended > calls + loops + uncalled || (!mode.replays && calls > ended + report.deferred + report.held) {
        return fail("G21: \(calls) calls with \(number); \(report)")
      }
      let least = handlers.count { !$0.isOnce && isFor($0, send) && $0.addReturn < send.call && $0.removeCall == nil }
      if ended + report.skipped + report.dropped + report.deferred + report.held < least {
        return fail("G21: \(number) found at least \(least); \(report)")
      }
    }
  }

  /// Checks that ended handlers, their closures and their owners have been released.
  private func judgeLifetimes() async {
    let living = handlers.filter { $0.removeCall == nil && !($0.isOnce && !$0.calls.isEmpty) }
    let (left, leftAside) = (living.count, living.count { $0.place.isForAll })
    if violation == nil, live.alive != left + owners.count {
      fail("G10, G22: \(live.alive) closures and owners are left, not \(left + owners.count)")
    }
    if violation == nil, event.handlerCount != left || aside.handlerCount != leftAside {
      fail("G11, G22: \(event.handlerCount) and \(aside.handlerCount) handlers are there, not \(left), \(leftAside)")
    }
    if violation == nil, let value, value.value != handlers[0].calls.last?.send {
      fail("G21: the value \(value.value) was not delivered")
    }
    event.removeAll(where: .all)
    bus.finish()
    owners = [:]
    await event.quiesce()
    await event.quiesce()
    if violation == nil, live.alive > 0 { fail("G22: \(live.alive) closures or owners are left") }
  }
}
