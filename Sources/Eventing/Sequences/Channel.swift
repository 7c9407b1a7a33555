/// What a sequence has in its event: one handler, which gives each payload to every iterator.
///
/// Until something is taken there is one inlet more, from which each iterator starts: so all of them see everything since the sequence was made. Afterwards
/// that would have to keep everything for as long as the sequence is there, which a task that iterates over it usually holds.
// Safe: what changes is guarded by `lock`.
@safe @usableFromInline final class Channel: @unchecked Sendable {
  @usableFromInline let buffering: Buffering
  @usableFromInline let isBounded: Bool
  @usableFromInline let lock = Lock()

  // Under the lock.
  @usableFromInline @exclusivity(unchecked) var origin: Inlet?
  @usableFromInline @exclusivity(unchecked) var inlets: [Inlet] = []
  /// The one inlet, if there is one and no more: lent without a retain.
  @usableFromInline @exclusivity(unchecked) var only: Unmanaged<Inlet>?
  /// The handler, until it goes.
  @exclusivity(unchecked) private var token: HandlerToken?
  /// Nothing more comes.
  @exclusivity(unchecked) private var isEnded = false
  /// From inside the event: what was dropped, until it is destroyed.
  @exclusivity(unchecked) private var dropped: PayloadQueue<PayloadAlone>
  /// Of the handler; there before any iterator.
  @usableFromInline let recordReference = OnceReference<Record>()

  @usableFromInline let type: PayloadType
  init(_ buffering: Buffering, _ type: PayloadType) {
    self.type = type
    self.buffering = buffering
    isBounded = buffering.isBounded
    unsafe dropped = PayloadQueue(type)
    unsafe origin = Inlet(buffering, type)
    noteOnly()
  }

  // MARK: Under the lock

  /// After the inlets have changed.
  private func noteOnly() {
    let one = unsafe origin == nil && inlets.count == 1 ? inlets[0] : inlets.isEmpty ? origin : nil
    unsafe only = unsafe one.map { unsafe .passUnretained($0) }
  }

  /// Of each iterator, and of the sequence itself.
  private func forEachInlet(_ body: (Inlet) -> Void) {
    for inlet in unsafe inlets { body(inlet) }
    if let origin = unsafe origin { body(origin) }
  }

  private func insert(_ inlet: Inlet) {
    unsafe inlet.slot = inlets.count
    unsafe inlets.append(inlet)
  }

  /// O(1): the last one takes its place.
  private func remove(_ inlet: Inlet) {
    guard let slot = unsafe inlet.slot else { return }
    unsafe inlet.slot = nil
    unsafe inlets.swapAt(slot, inlets.count - 1)
    unsafe inlets.removeLast()
    if unsafe slot < inlets.count { unsafe inlets[slot].slot = slot }
  }

  /// Adds the handler.
  func listen<Payload: Sendable>(to source: some EventSource<Payload>) {
    let token = source.attach(Handler(.sequence(buffering), .sequence(self)))
    _ = recordReference.set(token.record)
    lock.withLock { unsafe self.token = unsafe isEnded ? nil : token }
  }

  // MARK: For the event, from inside it

  /// Gives a payload to all where there is no bound.
  @usableFromInline func give(_ payload: Loan) {
    var sleeper: UnsafeContinuation<Void, Never>?
    lock.lock()
    if let only = unsafe only {
      unsafe only._withUnsafeGuaranteedRef { inlet in
        unsafe inlet.items.append(PayloadAlone(), payload)
        unsafe sleeper = inlet.takeSleeper()
      }
    } else {
      return giveAll(payload)
    }
    lock.unlock()
    unsafe sleeper?.resume()
  }

  /// Under the lock, which it unlocks.
  @usableFromInline func giveAll(_ payload: Loan) {
    var sleepers: [UnsafeContinuation<Void, Never>] = unsafe []
    unsafe origin?.items.append(PayloadAlone(), payload)
    for inlet in unsafe inlets {
      unsafe inlet.items.append(PayloadAlone(), payload)
      if let sleeper = unsafe inlet.takeSleeper() { unsafe sleepers.append(sleeper) }
    }
    lock.unlock()
    unsafe sleepers.forEach { unsafe $0.resume() }
  }

  /// The same with a bound.
  ///
  /// - Returns: how many iterators took it, and how many had to drop something.
  @usableFromInline func give(_ payload: Loan, _ tally: inout Tally) -> (taken: Int, missing: Int) {
    if !buffering.suspendsSender, let outcome = giveToOnly(payload) { return outcome }
    let isSend = buffering.suspendsSender && tally.isSend
    // Who waits is counted before it may be taken, and passed at once if it need not wait.
    var senders = isSend && !tally.isLate ? waiting(tally.flightIfAwaited()) : [:]
    var (taken, missing) = (0, 0)
    var sleepers: [UnsafeContinuation<Void, Never>] = unsafe []
    lock.lock()
    forEachInlet { inlet in
      let outcome = unsafe inlet.inbox.append(payload, isSend: isSend, senders[ObjectIdentifier(inlet)], &dropped)
      if outcome.isTaken { taken += 1 }
      if outcome.keepsSender { senders[ObjectIdentifier(inlet)] = nil }
      // The first inlet counts as long as there is no iterator, which has the same otherwise.
      if !outcome.isTaken || outcome.hasReplaced, unsafe inlet !== origin || inlets.isEmpty { missing += 1 }
      if let sleeper = unsafe inlet.takeSleeper() { unsafe sleepers.append(sleeper) }
    }
    lock.unlock()
    destroyDropped()
    pass(Array(senders.values))
    unsafe sleepers.forEach { unsafe $0.resume() }
    return (taken, missing)
  }

  /// The same to the only inlet, if there is one and no more, where nobody waits for room.
  private func giveToOnly(_ payload: Loan) -> (taken: Int, missing: Int)? {
    lock.lock()
    guard let only = unsafe only else {
      lock.unlock()
      return nil
    }
    let (outcome, sleeper) = unsafe only._withUnsafeGuaranteedRef {
      unsafe ($0.inbox.append(payload, isSend: false, nil, &dropped), $0.takeSleeper())
    }
    lock.unlock()
    destroyDropped()
    unsafe sleeper?.resume()
    return (outcome.isTaken ? 1 : 0, outcome.isTaken && !outcome.hasReplaced ? 0 : 1)
  }

  private func destroyDropped() {
    while unsafe !dropped.isEmpty {
      _ = unsafe dropped.takeFirst()
      unsafe dropped.destroyTaken()
    }
    unsafe dropped.recycle()
  }

  /// A send waits for the iterators; as long as there is none, for the first.
  private func waiting(_ flight: Flight?) -> [ObjectIdentifier: WaitingSender] {
    guard let flight else { return [:] }
    var senders: [ObjectIdentifier: WaitingSender] = [:]
    // Copied: no array leaves the lock that is changed in place there.
    let targets = lock.withLock { unsafe inlets.isEmpty ? origin.map { [$0] } ?? [] : inlets.map { $0 } }
    for inlet in targets {
      flight.expectUncounted(inlet)
      senders[ObjectIdentifier(inlet)] = WaitingSender(flight: flight, node: inlet)
    }
    return senders
  }

  private func pass(_ senders: [WaitingSender]) { for sender in senders { sender.pass() } }

  /// Nothing more comes. What waits can still be taken, unless the handler was removed; no send waits for that any more.
  func end(isRemoved: Bool) {
    var senders: [WaitingSender] = []
    var (contents, sleepers): ([InletContents], [UnsafeContinuation<Void, Never>]) = unsafe ([], [])
    lock.lock()
    unsafe isEnded = true
    unsafe token = nil
    forEachInlet { inlet in
      if isRemoved { empty(inlet, &senders, &contents) } else { unsafe senders += inlet.inbox.takeSenders() }
      if let sleeper = unsafe inlet.takeSleeper() { unsafe sleepers.append(sleeper) }
    }
    lock.unlock()
    pass(senders)
    unsafe sleepers.forEach { unsafe $0.resume() }
  }

  /// Under the lock; what it had is the caller's to release.
  private func empty(
    _ inlet: Inlet, _ senders: inout [WaitingSender], _ contents: inout [InletContents]
  ) {
    unsafe senders += inlet.inbox.takeSenders()
    contents.append(inlet.takeContents(buffering, type))
  }

  // MARK: For iterators

  /// Another iterator.
  func makeInlet() -> Inlet {
    let inlet = Inlet(buffering, type)
    let origin = lock.withLock { () -> Inlet? in
      let origin = unsafe self.origin
      if let origin {
        inlet.copyContents(of: origin)
        // The sends that wait for the first iterator are in one copy only.
        if unsafe inlets.isEmpty { _ = unsafe origin.inbox.takeSenders() } else { _ = unsafe inlet.inbox.takeSenders() }
      }
      insert(inlet)
      noteOnly()
      return origin
    }
    if buffering.suspendsSender {
      origin?.hand(over: inlet)
      inlet.noteConsumer()
    }
    return inlet
  }

  /// An iterator goes, or the sequence. The handler goes with the last iterator, or with a sequence that had none.
  @usableFromInline func drop(_ inlet: Inlet?) {
    var senders: [WaitingSender] = []
    var (contents, gone): ([InletContents], Inlet?) = ([], nil)
    lock.lock()
    // Another task may wait with this iterator, and nobody finds it after this.
    let sleeper = unsafe inlet?.takeSleeper()
    if let inlet {
      empty(inlet, &senders, &contents)
      remove(inlet)
    }
    if let origin = unsafe origin, unsafe inlet == nil || inlets.isEmpty {
      empty(origin, &senders, &contents)
      gone = origin
      unsafe self.origin = nil
    }
    noteOnly()
    let last = unsafe inlets.isEmpty ? token : nil
    if last != nil {
      unsafe token = nil
      unsafe isEnded = true
    }
    lock.unlock()
    if buffering.suspendsSender { inlet?.forgetConsumer() }
    pass(senders)
    unsafe sleeper?.resume()
    if let last { _ = last.home.remove(last.record) }
    withExtendedLifetime(gone) {}
  }

  enum Taken { case something, nothing, end }

  /// Takes what is next: all that waits, or one where there is a bound, and how many were dropped before it. `batch` is empty.
  func take(_ inlet: Inlet, _ batch: inout PayloadQueue<PayloadAlone>, _ lag: inout Int) -> Taken {
    var senders: [WaitingSender] = []
    lock.lock()
    if !isBounded {
      unsafe swap(&batch, &inlet.items)
    } else if let (item, room) = unsafe inlet.inbox.moveFirst(to: &batch) {
      lag = item.lag
      if let sender = item.sender { senders.append(sender) }
      if let room { senders.append(room) }
    } else {
      lag = unsafe inlet.inbox.takeLag()
    }
    let isSomething = !batch.isEmpty || lag > 0
    let taken = unsafe isSomething ? Taken.something : isEnded ? .end : .nothing
    let begun = unsafe isSomething ? origin : nil
    if let begun {
      // A send that found no iterator may have come to wait here after there was one.
      unsafe senders += begun.inbox.takeSenders()
      unsafe origin = nil
      noteOnly()
    }
    lock.unlock()
    pass(senders)
    withExtendedLifetime(begun) {}  // what it had is released outside of the lock
    return taken
  }

  /// Before an iterator waits; false if a task waits with it already.
  func begin(_ inlet: Inlet) -> Bool {
    lock.withLock {
      guard unsafe inlet.sleeper == nil else { return false }
      unsafe inlet.isCancelled = false
      return true
    }
  }

  /// Lets an iterator wait; false if there is something for it.
  func park(_ inlet: Inlet, _ sleeper: UnsafeContinuation<Void, Never>) -> Bool {
    lock.withLock {
      guard unsafe inlet.sleeper == nil, unsafe !isEnded, unsafe !inlet.isCancelled else { return false }
      guard unsafe inlet.items.isEmpty, unsafe inlet.inbox.isEmpty else { return false }
      unsafe inlet.sleeper = unsafe sleeper
      return true
    }
  }

  /// Lets an iterator go on whose task was cancelled.
  func cancel(_ inlet: Inlet) {
    lock.lock()
    unsafe inlet.isCancelled = true
    let sleeper = unsafe inlet.takeSleeper()
    lock.unlock()
    unsafe sleeper?.resume()
  }
}
