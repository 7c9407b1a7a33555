import Synchronization

// An event with observers or an `unhandled` event sets `mustEnqueue`, which makes `enter()` fail,
// so each occurrence is enqueued and the mailbox is drained immediately. An event with a history
// does the same but delivers a post immediately if it is idle. Other events pay nothing.
//
// Isolation: core, except that any thread may call `observe`, `change`, `forgetObservers`,
// `isTraced` and `postTraced`.

extension EventCore {
  package func observe(in instrument: any EventInstrument) {
    let (anchor, event) = (anchor, identity)
    // From here on, occurrences note their origins. The drain may clear `isTraced` before it
    // reaches the change, because an earlier trace has ended, so the change sets it again.
    if instrument.wantsOrigins { rareState.isTraced.store(true, ordering: .relaxed) }
    change {
      unsafe self.forEachSlot { slot in
        let record = unsafe slot.pointee.record
        if unsafe record.index >= 0 { instrument.added(HandlerToken(record, anchor), of: event) }
      }
      unsafe anchor.observers = anchor.observers?.adding(instrument) ?? Observers([instrument], of: event)
      if instrument.wantsOrigins { self.rareState.isTraced.store(true, ordering: .relaxed) }
      self.updateMustEnqueue()
    }
  }

  func change(_ body: @escaping @Sendable () -> Void) {
    if enqueue(.change(body, by: Thread.current)) { OverloadControl.slowDown() }
  }

  package func forgetObservers() { change { _ = self.livingObservers() } }

  func livingObservers() -> Observers? {
    guard let anchor = anchorReference.load(), let before = unsafe anchor.observers else { return nil }
    let living = before.living
    if living !== before {
      unsafe anchor.observers = living
      rareState.isTraced.store(living?.wantOrigins == true, ordering: .relaxed)
      updateMustEnqueue()
    }
    return living
  }

  /// The drain copies ``mustEnqueue`` into the state word when it leaves.
  func updateMustEnqueue() {
    let isUnhandledWanted = rareState.unhandledReference.load() != nil
    mustEnqueue = unsafe rareState.history != nil || anchor.observers != nil || isUnhandledWanted
  }

  @inline(__always) func reportHandler(_ record: HandlerRecord, isAdded: Bool) {
    if withAnchor({ unsafe $0.observers != nil }) { reportToObservers(of: record, isAdded: isAdded) }
  }

  @inline(never) func reportToObservers(of record: HandlerRecord, isAdded: Bool) {
    guard let observers = unsafe anchor.observers else { return }
    let token = HandlerToken(record, anchor)
    observers.tell { isAdded ? $0.added(token, of: observers.event) : $0.removed(token, of: observers.event) }
  }

  func observed(_ sequence: UInt64) -> ObservedOccurrence? {
    unsafe anchorReference.load()?.observers.map { ObservedOccurrence(observers: $0, sequence: sequence) }
  }

  /// Retains nothing, because that would take longer than everything else that the core does for a
  /// trace. `delivery.observed` keeps `tracing` alive.
  @inline(never) func callWatched(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ tracing: ObservedOccurrence.Tracing, _ payload: BorrowedPayload,
    _ delivery: inout Delivery
  ) {
    let number = CallCell.newNumber()
    let call = unsafe WatchedCall(
      number, delivery.sequence, tracing.observers, slot.pointee.held, anchorReference.lend(),
      outer: tracing.cell._withUnsafeGuaranteedRef { $0.begin(number) })
    unsafe tracing.observers._withUnsafeGuaranteedRef { $0.only?.began(call) }
    do {
      unsafe try slot.pointee.call(payload)
      end(.returned)
      delivery.report.counts.delivered &+= 1
    } catch {
      end(.threw(error))
      unsafe delivery.fail(slot.pointee.record, self.anchor, error)
    }
    func end(_ end: WatchedCall.End) {
      unsafe tracing.cell._withUnsafeGuaranteedRef { $0.call.store(call.outer, ordering: .relaxed) }
      unsafe tracing.observers._withUnsafeGuaranteedRef { $0.only?.ended(call, end) }
    }
  }

  /// Only a hint, which may be wrong while a trace begins or ends.
  var isTraced: Bool {
    unsafe rareStateReference.lend()?._withUnsafeGuaranteedRef { $0.isTraced.load(ordering: .relaxed) } ?? false
  }

  @inline(never) func visitAlone(
    _ slot: UnsafeMutablePointer<HandlerSlot>, _ payload: BorrowedPayload, _ delivery: inout Delivery
  ) {
    guard let cell = delivery.observed?.cell else { return _ = unsafe visit(slot, payload, &delivery) }
    CallCell.$current.withValue(cell) { _ = unsafe visit(slot, payload, &delivery) }
  }

  @inline(never) func postTraced(_ payload: BorrowedPayload, from sender: (any AnyObject & Sendable)?) {
    let completion = Completion(.post, from: sender)
    completion.noteOrigin()
    if enqueue(payload, completion) { OverloadControl.slowDown() }
  }

  @inline(never) func watched(
    _ payload: BorrowedPayload, _ completion: Completion?, _ delivery: inout Delivery,
    _ deliver: (inout Delivery) -> Void
  ) {
    guard let observed = delivery.observed else { return deliver(&delivery) }
    let observers = observed.observers
    let occurrence = unsafe WatchedOccurrence(
      event: observers.event, sequence: observed.sequence,
      origin: completion?.notes?.origin ?? TraceOrigin(isKnown: observed.cell != nil),
      sender: delivery.sender, payload: payload, type: type)
    observers.tell { $0.began(occurrence) }
    if let cell = observed.cell {
      CallCell.$current.withValue(cell) { deliver(&delivery) }
    } else {
      deliver(&delivery)
    }
    observers.tell { $0.ended(occurrence) }
  }
}

@usableFromInline package final class Observers: Sendable {
  private let all: [any EventInstrument]
  /// Set if there is exactly one, because a loop over `all` would retain the array and the
  /// instrument.
  let only: (any EventInstrument)?
  let wantOrigins: Bool
  let event: EventIdentity

  init(_ all: [any EventInstrument], of event: EventIdentity) {
    self.all = all
    only = all.count == 1 ? all[0] : nil
    wantOrigins = all.contains { $0.wantsOrigins }
    self.event = event
  }

  func adding(_ instrument: any EventInstrument) -> Observers { Observers(all + [instrument], of: event) }

  var living: Observers? {
    if let only { return only.isOver ? nil : self }  // without arrays
    let rest = all.filter { !$0.isOver }
    return rest.count == all.count ? self : rest.isEmpty ? nil : Observers(rest, of: event)
  }

  @inline(__always) func tell(_ body: (any EventInstrument) -> Void) {
    if let only { body(only) } else { for each in all { body(each) } }
  }

  func oldestCall(of handler: UInt64) -> Duration? {
    let starts = all.compactMap { ($0 as? Observation)?.oldestStart(of: handler) }
    return starts.map { StableInstant.now.since($0) }.max()
  }
}

@usableFromInline struct ObservedOccurrence: Sendable {
  let observers: Observers
  let sequence: UInt64
  var cell: CallCell? { didSet { tracing = nil } }
  /// Not retained.
  private(set) var tracing: Tracing?

  // Safe: used only during the lifetime of the occurrence, which retains both.
  @safe struct Tracing {
    let observers: Unmanaged<Observers>
    let cell: Unmanaged<CallCell>
  }

  init(observers: Observers, sequence: UInt64) {
    self.observers = observers
    self.sequence = sequence
    guard observers.wantOrigins else {
      (cell, tracing) = (nil, nil)
      return
    }
    let cell = CallCell()
    self.cell = cell
    tracing =
      observers.only == nil ? nil : unsafe Tracing(observers: .passUnretained(observers), cell: .passUnretained(cell))
  }

  func skipped(_ handler: HandlerToken) { noCall(.skipped, handler) }
  func dropped(_ handler: HandlerToken) { noCall(.dropped, handler) }
  func held(_ handler: HandlerToken) { noCall(.held, handler) }

  private func noCall(_ kind: EventStep.Kind, _ handler: HandlerToken) {
    let call = WatchedCall(0, self, handler.record, handler.anchor)
    observers.tell { $0.noCall(kind, call) }
  }

  func began(
    _ handler: HandlerToken, on lane: DeliveryTarget? = nil, attempt: Int = 1, isFurther: Bool = false,
    isHandOver: Bool = false
  ) -> WatchedCall {
    let number = CallCell.newNumber()
    let call = WatchedCall(
      number, self, handler.record, handler.anchor, on: lane, attempt: attempt, isFurther: isFurther,
      isHandOver: isHandOver, outer: cell?.begin(number) ?? 0)
    observers.tell { $0.began(call) }
    return call
  }

  func ended(_ call: WatchedCall, _ end: WatchedCall.End) {
    cell?.call.store(call.outer, ordering: .relaxed)
    observers.tell { $0.ended(call, end) }
  }

  func withdrew(_ call: WatchedCall) {
    cell?.withdraw(call.outer)
    observers.tell { $0.withdrew(call) }
  }
}
