extension Mailbox {
  // MARK: Adding

  /// Adds handlers as a group, from any thread: every occurrence sent after this reaches them all, none sent before any.
  @usableFromInline @inline(never) func add(_ joiners: ContiguousArray<Joiner>) {
    let own = enter()
    if own != 0 {
      for joiner in joiners { insert(joiner) }
      leave(own)
    } else {
      queueJoining(joiners)
    }
  }

  /// The same for one.
  @usableFromInline @inline(never) func add(_ joiner: Joiner) {
    let own = enter()
    guard own != 0 else { return queueJoining([joiner]) }
    insert(joiner)
    leave(own)
  }

  /// The same for one that is called inline and has nothing else.
  @usableFromInline @inline(__always) func add(_ body: ErasedHandler, _ record: Record) {
    let own = enter()
    guard own != 0 else { return queueJoining([Joiner(body, record)]) }
    insertInline(body, record)
    leave(own)
  }

  @usableFromInline func attachInline(once: Bool, _ body: ErasedHandler) -> HandlerToken {
    let home = home  // there before the handler, which may be called before this returns
    let record = Record(once ? Bit.once : 0)
    add(body, record)
    return HandlerToken(record, home)
  }

  @usableFromInline @inline(never) func insertInline(_ body: ErasedHandler, _ record: Record) {
    lock.lock()
    if unsafe isFinished || isGated {
      lock.unlock()
      return insert(Joiner(body, record))
    }
    unsafe record.joined = unsafe sequence
    unsafe table.append(body, record, priority: 0)
    lock.unlock()
    if record.has(Bit.once) { withHome { $0.unsettle() } }
    if hasOwners { lookAtTwo() }
  }

  @usableFromInline @inline(never) func queueJoining(_ joiners: ContiguousArray<Joiner>) {
    var isLate = false
    let mustSlowDown = queue { backlog in
      isLate = unsafe isFinished
      if isLate { return false }
      for joiner in joiners { backlog.queueJoiner(joiner) }
      unsafe backlog.queue.append(.join(joiners.count, by: Thread.current))
      return unsafe backlog.joining.count - backlog.joined > Flood.changeLimit
    }
    if isLate { for joiner in joiners { drop(joiner.record) } }
    if mustSlowDown { Flood.slowDown() }
  }

  /// Inside: the next queued adds.
  @usableFromInline func join(_ count: Int) {
    let backlog = backlog
    for _ in 0..<count {
      let list = unsafe backlog.addresses == nil ? nil : list(for: lock.withLock { backlog.nextRecord })
      lock.lock()
      let joiner = backlog.nextJoiner()
      if !joiner.record.has(Bit.gone), !mutant(.queuedAddIsLost) { enrol(joiner, list) }
      lock.unlock()
      if unsafe joiner.record.slot < 0 { drop(joiner.record, list) } else { welcome(joiner.record) }
    }
  }

  /// Inside.
  @usableFromInline func insert(_ joiner: Joiner) {
    let list = list(for: joiner.record)
    lock.lock()
    let isLate = unsafe isFinished
    if !isLate { enrol(joiner, list) }
    lock.unlock()
    if isLate { drop(joiner.record, list) } else { welcome(joiner.record) }
  }

  /// Inside: after a handler joined.
  private var greetingNow: Parcel? {
    let backlog = backlog
    return lock.withLock { unsafe backlog.isGreetingCurrent ? backlog.greetsNow?() : backlog.greeting?.copy() }
  }

  @usableFromInline func welcome(_ record: Record) {
    tellOf(record, isAdded: true)
    if let details = record.details, details.options.isGreeted, let greeting = greetingNow {
      unsafe tell(details, greeting.loan, details.options.priority, sequence: sequence, from: nil)
    }
    if let history = backlogReference.load()?.history {
      for _ in 0..<(mutant(.replayComesTwice) ? 2 : 1) { replay(history, to: record) }
    }
    lookForOrphans()
  }

  /// Inside: tells one handler something, which no occurrence does.
  @usableFromInline func tell(
    _ record: Record, _ payload: Loan, _ priority: Int, sequence: UInt64, from sender: (any AnyObject & Sendable)?
  ) {
    guard unsafe record.slot >= 0, let band = unsafe table.band(of: priority) else { return }
    unsafe record.joined &-= 1  // it counts as a call
    var tally = unsafe Tally(sequence: sequence, isAwaited: false, sender: sender, flight: nil, path: nil, isClocked: clocked > 0)
    tally.watched = watched(sequence)
    _ = unsafe visit(band.pointee.rows + Int(record.slot), payload, &tally)
    tidyRetired()
  }

  /// Inside, not under the lock: the table of a handler that listens to one key.
  @usableFromInline func list(for record: Record) -> AddressTable? {
    guard let address = unsafe record.details?.address else { return nil }
    return unsafe backlog.addresses?.find(address)
  }

  /// Inside, under the lock.
  @usableFromInline func enrol(_ joiner: Joiner, _ list: AddressTable?) {
    let record = joiner.record
    if unsafe isGated, !mutant(.newcomerIsNotGated) { gateNewcomer(record) }
    unsafe record.joined = offered(to: list)
    let options = record.details?.options
    if let options {
      if options.isClocked { unsafe clocked += 1 }
      if options.wantsPrior { unsafe backlog.wantPrior += 1 }
      if options.owner != nil { hasOwners = true }
    }
    if let list {
      unsafe record.details?.addressTable = list
      unsafe backlog.addresses?.link(list)
      unsafe list.table.append(joiner.body, record, priority: options?.priority ?? 0)
    } else {
      unsafe table.append(joiner.body, record, priority: options?.priority ?? 0)
    }
    if record.has(Bit.decide) {
      withHome { $0.unsettle() }
      unsafe list?.settled = 0
    }
  }

  @usableFromInline func lookForOrphans() {
    if hasOwners { lookAtTwo() }
    if let orphans = unsafe backlogReference.load()?.addresses?.lookAtTwo(lock) {
      for record in orphans {
        record.set(Bit.removed)
        tidy(record)
      }
    }
  }

  /// Ends a handler that never joined.
  @usableFromInline func drop(_ record: Record, _ list: AddressTable? = nil) {
    record.set(Bit.removed)
    retire(record)
    if record.has(Bit.held) { forgetHold(of: record) }
    if let list { forgetIfEmpty(list) }
  }

  /// Inside: a key without handlers leaves nothing behind.
  @usableFromInline func forgetIfEmpty(_ list: AddressTable) {
    guard unsafe list.table.count == 0, let addresses = unsafe backlog.addresses else { return }
    lock.lock()
    addresses.unlink(list)
    lock.unlock()
    addresses.forget(list)
  }

  /// Inside: two rows are looked at with every add, so that handlers of owners that went away go even if nothing is ever sent.
  @usableFromInline func lookAtTwo() {
    for _ in 0..<2 {
      guard let record = lock.withLock({ unsafe table.nextToLookAt() }) else { continue }
      guard let owner = record.details?.options.owner, owner.object == nil else { continue }
      record.set(Bit.removed)
      tidy(record)
    }
  }

  // MARK: The end

  /// Queues the end of the event: each time, since whoever ends it second relies on it, too.
  @usableFromInline func finish() {
    lock.withLock { unsafe isFinished = true }
    if put(.finish) { Flood.slowDown() }
  }

  /// Inside: what was sent has been delivered; lanes end after what they hold.
  @usableFromInline func finishTable() {
    var records: [Record] = []
    unsafe forEachRow { row in unsafe records.append(row.pointee.record) }
    for record in records {
      tidy(record)
    }
    backlogReference.load()?.unheardReference.load()?.finish()
  }

  /// Inside: sends a flight through all lanes after what they hold.
  @usableFromInline func barrier(_ flight: Flight) {
    unsafe forEachRow { row in
      unsafe row.pointee.record.details?.work?.lane?.sendBarrier(flight)
    }
    if let backlog = backlogReference.load() {
      for lane in unsafe backlog.ending { lane.sendBarrier(flight) }
    }
    flight.finishDelivery(SendReport())
  }
}

extension Mailbox {
  /// Makes the record of a handler.
  @usableFromInline func joiner(_ handler: AnyHandler, _ home: Home) -> Joiner {
    let once = handler.isOnce ? Bit.once : 0
    if handler.options.owner == nil, handler.options.address == nil, case .inline = handler.place, case .direct(let body) = handler.body {
      if handler.options.isEmpty { return Joiner(body, Record(once)) }
      // All else that a direct handler may have costs its calls nothing.
      return Joiner(body, DetailedRecord(once, handler.options, handler.place))
    }
    return detailedJoiner(handler, once, home)
  }

  @usableFromInline func detailedJoiner(_ handler: AnyHandler, _ once: UInt32, _ home: Home) -> Joiner {
    var options = handler.options
    let address = options.address
    options.address = nil
    if case .inline = handler.place, case .direct(let body) = handler.body {
      // An owner is asked for before each call.
      let special = handler.options.owner == nil ? 0 : Bit.special
      let record = DetailedRecord(once | special, options, handler.place)
      unsafe record.address = address
      guard let owner = options.owner, !handler.isOnce else { return Joiner(body, record) }
      unsafe record.takesPosts = true
      return Joiner(
        .of(
          { payload in
            guard let object = owner.object else { throw RowSignal.decide }
            try withExtendedLifetime(object) { try body(payload) }
          }, handler.type), record)
    }
    let record = DetailedRecord(once | Bit.special, options, handler.place)
    unsafe record.address = address
    var taking = ErasedHandler.none
    if case .view(let viewer, _) = handler.body {
      unsafe record.viewer = viewer
      let record = unsafe Unmanaged.passUnretained(record)  // the row has it
      taking = viewer.counting(handler.type) { unsafe record._withUnsafeGuaranteedRef { unsafe $0.unheard &+= 1 } }
    }
    let work = Work(handler.place, handler.body, handler.type, record, home)
    unsafe record.work = work
    if !handler.isOnce, let body = work.bodyForPosts(options.owner, handler.type) {
      unsafe record.takesPosts = true
      taking = body
    }
    if handler.options.owner == nil {
      if case .serial(let lane) = work { unsafe record.plainLane = .passUnretained(lane) }
      if case .sequence(let lane) = work { unsafe record.plainSequence = .passUnretained(lane) }
    }
    return Joiner(taking, record)
  }
}
