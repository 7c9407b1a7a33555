import Eventing

/// Compares the changes that each handler of an observed value received with all changes of the
/// value.
struct ChangeVerifier {
  let context: ScenarioContext
  let witness: Listener
  let listeners: [Listener]
  /// The name of the initial value.
  let start: Tone.Name
  /// A time by which all calls of the handlers had returned.
  let settled: UInt64

  private var checks: Checks { context.checks }
  /// The names of all values in the order of the changes, beginning with that of the initial value.
  private var chain: [Tone.Name] = []
  /// The index of each value in `chain`.
  private var place: [Tone.Name: Int] = [:]
  /// `sent` and `done` have one element for each value in `chain`. The element of `sent` is the
  /// span in which a worker made the change to this value. The element of `done` is a time by which
  /// all inline calls for this change had returned.
  private var sent: [Span] = []
  private var done: [UInt64] = []

  init(_ context: ScenarioContext, witness: Listener, _ listeners: [Listener], start: Tone.Name, settled: UInt64) {
    (self.context, self.witness, self.listeners, self.start, self.settled) = (
      context, witness, listeners, start, settled
    )
  }

  /// Verifies all listeners.
  ///
  /// - Parameter end: The name of the final value.
  mutating func run(_ end: Tone.Name) {
    guard order() else { return }
    checks.expect(
      .g1, chain.last == end,
      "the last change that the witness received is to \(String(describing: chain.last)); the value is \(end)")
    for listener in listeners { verify(listener) }
  }

  // MARK: The order of the changes

  /// Reconstructs the order of all changes from the calls of `witness`, an inline handler that
  /// receives every change. Fills `chain`, `place`, `sent` and `done`.
  ///
  /// - Returns: `false` if the verification cannot continue. That is so if a call lacks the old or
  ///   the new value, a change came twice, or the number of calls differs from the number of
  ///   changes.
  private mutating func order() -> Bool {
    (chain, place, sent) = ([start], [start: 0], [Span(start: 0, end: 0)])
    var next = [Int32](repeating: 0, count: context.workers.count)
    for call in witness.calls {
      let new = call.new
      guard let old = call.old else {
        checks.violate(.g21, "the witness asked for both values, and did not receive them")
        return false
      }
      checks.expect(
        .g1, old == chain[chain.count - 1],
        "a change began with \(old); the previous change ended with \(chain[chain.count - 1])")
      if let basis = call.basis {
        checks.expect(.g21, basis == old, "an update of \(basis) followed \(old): the change to \(old) was lost")
      }
      checks.expect(
        .g2, new.index == next[Int(new.senderLog)],
        "sender \(new.senderLog): expected number \(next[Int(new.senderLog)]), received \(new.index)")
      next[Int(new.senderLog)] = new.index + 1
      guard checks.expect(.g21, place[new] == nil, "\(new) was received twice") else { return false }
      place[new] = chain.count
      chain.append(new)
      sent.append(context.workers[Int(new.senderLog)].senderLog.sent[Int(new.index)])
    }
    done = [0] + witness.calls.dropFirst().map(\.at) + [settled]
    let total = context.workers.reduce(0) { $0 + $1.senderLog.sent.count }
    return checks.expect(.g21, chain.count - 1 == total, "\(total) changes were made, \(chain.count - 1) received")
  }

  // MARK: A handler

  private func verify(_ listener: Listener) {
    for call in listener.calls { judgeOptions(listener, call) }
    let replayValue = listener.options.contains(.initial) ? listener.calls.first { !$0.isPrior } : nil
    if listener.options.contains(.initial), listener.removing == nil {
      checks.expect(.g6, replayValue != nil, "\(listener) asked for the initial value, and did not receive it")
    }
    let changes = listener.calls.filter { !$0.isPrior }.dropFirst(replayValue == nil ? 0 : 1)
    judgeNumber(listener, changes.count)
    let places = changes.map(place(of:))
    judgeChain(listener, places)
    judgeBeginning(listener, replayValue, places)
    judgeEnd(listener, places, changes)
    if listener.options.contains(.prior) { judgePriors(listener) }
  }

  private func place(of call: Listener.Call) -> Int {
    place[call.new] ?? -1
  }

  /// Checks that a call has the values that the handler's options ask for, and no others.
  private func judgeOptions(_ listener: Listener, _ call: Listener.Call) {
    let options = listener.options
    let isReplayValue =
      options.contains(.initial) && call.old == nil && call.at == listener.calls.first { !$0.isPrior }?.at
    let hasOld = call.old != nil
    let isRight =
      hasOld != isReplayValue && (!call.isPrior || options.contains(.prior))
    checks.expect(.g21, isRight, "\(listener) received other values than its options ask for: \(call)")
  }

  private func judgeChain(_ listener: Listener, _ places: [Int]) {
    let guarantee: Guarantee = listener.place.isInline ? .g1 : .g13
    checks.count(guarantee, places.count)
    for (one, next) in zip(places, places.dropFirst()) where next != one + 1 {
      checks.violate(guarantee, "\(listener) received change \(next) after \(one)")
    }
  }

  /// Checks that the first changes of the handler fit the time of its addition.
  ///
  /// If the handler received the initial value, its first change must start from that value. In any
  /// case, no change made after the addition may be missing, and no change made before the addition
  /// may arrive.
  private func judgeBeginning(_ listener: Listener, _ replayValue: Listener.Call?, _ places: [Int]) {
    var first = places.first
    if let new = replayValue?.new {
      guard let at = place[new] else {
        return checks.violate(.g6, "\(listener) received an initial value that never existed")
      }
      if let next = first {
        checks.expect(.g6, next == at + 1, "\(listener) received initial value \(at), then change \(next)")
      }
      first = at + 1
    }
    guard let first else { return }
    if first > 1 || replayValue != nil {
      // The handler received no change with a number below `first`. If one of these changes began
      // after the addition of the handler had returned, the handler missed that change.
      let missed = (1..<max(1, min(first, sent.count))).first { listener.adding.isBefore(sent[$0]) }
      checks.expect(.g6, missed == nil, "change \(missed ?? 0), made after \(listener) was added, never reached it")
    }
    let early = first < sent.count ? (first..<sent.count).first { sent[$0].isBefore(listener.adding) } : nil
    checks.expect(
      .g6, early == nil, "change \(early ?? 0), made before \(listener) was added, came after its addition")
  }

  /// Checks which change was the last one that the handler received.
  ///
  /// If the handler was not removed, that must be the last change of all. A removed handler must
  /// not have received a change made after its removal. A removed inline handler must have received
  /// every change that had been delivered before its removal.
  private func judgeEnd(_ listener: Listener, _ places: [Int], _ changes: ArraySlice<Listener.Call>) {
    guard let removing = listener.removing else {
      if let last = places.last {
        checks.expect(
          .g6, last == chain.count - 1, "the last change that \(listener) received is \(last) of \(chain.count - 1)")
      }
      return
    }
    checks.count(.g7, 1)
    for place in places where place > 0 && removing.isBefore(sent[place]) {
      checks.violate(.g7, "\(listener) received change \(place), made after its removal had returned")
    }
    let late = changes.count { $0.at > removing.end }
    let allowed = listener.options.contains(.prior) ? 2 : 1  // with `.prior`, a change makes two calls
    if late > allowed { checks.violate(.g7, "\(late) calls of \(listener) began after its removal had returned") }
    guard listener.place.isInline else { return }
    let due = (1..<sent.count).last { done[$0] < removing.start && listener.adding.isBefore(sent[$0]) }
    if let due { checks.expect(.g6, (places.last ?? 0) >= due, "\(listener) did not receive change \(due)") }
  }

  /// Checks that the handler received every change that had to reach it. Counts the changes that
  /// had to reach it, that could reach it, and that did.
  private func judgeNumber(_ listener: Listener, _ number: Int) {
    var (must, may) = (0, 0)
    for place in 1..<max(1, sent.count) where !sent[place].isBefore(listener.adding) {
      if let removing = listener.removing, removing.isBefore(sent[place]) { continue }
      may += 1
      guard listener.adding.isBefore(sent[place]) else { continue }
      if let removing = listener.removing, !listener.place.isInline || done[place] >= removing.start { continue }
      must += 1
    }
    checks.expect(.g6, must <= number, "\(listener) received \(number) changes; \(must) had to reach it")
    checks.expect(.g6, number <= may, "\(listener) received \(number) changes; \(may) could reach it")
    context.must += must
    context.may += may
    context.did += number
  }

  /// Checks that a call with `isPrior` preceded the call for each change that was made after the
  /// handler's addition.
  private func judgePriors(_ listener: Listener) {
    var announced: Set<Tone.Name> = []
    for call in listener.calls {
      let new = call.new
      if call.isPrior {
        announced.insert(new)
      } else if let place = place[new], place > 0, listener.adding.isBefore(sent[place]) {
        checks.expect(.g21, announced.contains(new), "\(listener) received change \(place) without its announcement")
      }
    }
  }
}
