import Synchronization

@usableFromInline package final class Observers: Sendable {
  private let all: [any EventInstrument]
  /// Set if there is exactly one: a loop over `all` would retain the array and the instrument.
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

  // Safe: used only while the occurrence exists, which retains both.
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
