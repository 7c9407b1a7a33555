import Synchronization

/// Holds the number of the call that runs now in a delivery, or on a lane. An occurrence that is
/// sent meanwhile finds its cause here.
///
/// One cell is bound for a delivery, and not one for each call, because a binding costs more than a
/// call. So a task that an inline handler starts, and that posts after the handler has returned,
/// finds the call that runs then, or none.
final class CallCell: Sendable {
  /// The number of the call; 0 if none runs.
  let call = Atomic<UInt64>(0)

  @TaskLocal static var current: CallCell?
}

/// When an occurrence was sent, and by which call.
struct TraceOrigin: Sendable {
  let postedAt = InspectionClock.now
  let cause = CallCell.current?.call.load(ordering: .relaxed) ?? 0
}

/// The part of a completion that only inspections and traces need: when its occurrence was sent and
/// by which call (`origin`), the kind of its wait, and the anchor of its event. Immutable.
final class CompletionNotes: Sendable {
  let origin: TraceOrigin?
  let kind: PolledWait.Kind?
  let anchor: EventAnchor?

  init(origin: TraceOrigin?, kind: PolledWait.Kind?, anchor: EventAnchor?) {
    (self.origin, self.kind, self.anchor) = (origin, kind, anchor)
  }
}

extension Completion {
  /// A completion for a change of an ``Observed`` value. It has the task-local values of the
  /// setter, and for traces the time of the change and the call that made it. `nil` if no value is
  /// carried and no trace runs.
  ///
  /// A trace of any event counts: a combination of values has its own event, which may be traced.
  static var ofSetter: Completion? {
    let isTraced = EventTracing.areRunning
    guard isTraced || CarriedContext.isCarrying else { return nil }
    let completion = Completion(.post)
    if isTraced { completion.noteOrigin() }
    return completion
  }

  /// A new completion with the task-local values of this one, and with its time and cause for
  /// traces; `nil` if this completion has none of these.
  ///
  /// This completion is that of a change of an ``Observed`` value. The new one is for a further
  /// occurrence that the change brings: the announcement before the change, or an occurrence in the
  /// event of a combination.
  var forFurtherOccurrence: Completion? {
    let notes = unsafe notes
    return context != nil || notes != nil ? Completion(withoutWaiting: context, nil, notes) : nil
  }
}
