import Eventing

/// Compares what the handlers of a value were told with the chain of its changes.
struct ChangeVerifier {
  let context: ScenarioContext
  let witness: Listener
  let listeners: [Listener]
  /// What the value was to begin with.
  let start: Tone.Name
  let settled: UInt64

  private var checks: Checks { context.checks }
  /// The values in the order in which they came; the first is that to begin with.
  private var chain: [Tone.Name] = []
  private var place: [Tone.Name: Int] = [:]
  /// For each place when the change was made, and a time by which all inline calls had returned.
  private var sent: [Span] = []
  private var done: [UInt64] = []

  init(_ context: ScenarioContext, witness: Listener, _ listeners: [Listener], start: Tone.Name, settled: UInt64) {
    (self.context, self.witness, self.listeners, self.start, self.settled) = (
      context, witness, listeners, start, settled
    )
  }

  /// - Parameter end: what the value is now.
  mutating func run(_ end: Tone.Name) {
    guard order() else { return }
    checks.expect(
      .g1, chain.last == end,
      "the last change that was told is to \(String(describing: chain.last)); the value is \(end)")
    for listener in listeners { verifier(listener) }
  }

  // MARK: The order of the changes

  /// Lays the changes out as the witness was told of them; false if that makes no sense.
  private mutating func order() -> Bool {
    (chain, place, sent) = ([start], [start: 0], [Span(start: 0, end: 0)])
    var next = [Int32](repeating: 0, count: context.workers.count)
    for call in witness.calls {
      guard let old = call.old, let new = call.new else {
        checks.violate(.g21, "the witness asked for both values and was not told")
        return false
      }
      checks.expect(
        .g1, old == chain[chain.count - 1],
        "a change began with \(old), and the one before ended with \(chain[chain.count - 1])")
      if let basis = call.basis {
        checks.expect(.g21, basis == old, "an update of \(basis) came after \(old) was set: that was lost")
      }
      checks.expect(
        .g2, new.index == next[Int(new.senderLog)],
        "sender \(new.senderLog): \(new.index) came when \(next[Int(new.senderLog)]) was due")
      next[Int(new.senderLog)] = new.index + 1
      guard checks.expect(.g21, place[new] == nil, "\(new) was told twice") else { return false }
      place[new] = chain.count
      chain.append(new)
      sent.append(context.workers[Int(new.senderLog)].senderLog.sent[Int(new.index)])
    }
    done = [0] + witness.calls.dropFirst().map(\.at) + [settled]
    let total = context.workers.reduce(0) { $0 + $1.senderLog.sent.count }
    return checks.expect(.g21, chain.count - 1 == total, "\(total) changes were made, \(chain.count - 1) told")
  }

  // MARK: A handler

  private func verifier(_ listener: Listener) {
    for call in listener.calls { judgeOptions(listener, call) }
    let greeting = listener.options.contains(.initial) ? listener.calls.first { !$0.isPrior } : nil
    if listener.options.contains(.initial), listener.removing == nil {
      checks.expect(.g6, greeting != nil, "\(listener) wanted to be told at once, and was not")
    }
    let changes = listener.calls.filter { !$0.isPrior }.dropFirst(greeting == nil ? 0 : 1)
    judgeNumber(listener, changes.count)
    guard listener.options.contains(.old) || listener.options.contains(.new) else { return }
    let places = changes.map(place(of:))
    judgeChain(listener, places)
    judgeBeginning(listener, greeting, places)
    judgeEnd(listener, places, changes)
    if listener.options.contains([.prior, .new]) { judgePriors(listener) }
  }

  private func place(of call: Listener.Call) -> Int {
    if let new = call.new { return place[new] ?? -1 }
    return call.old.flatMap { place[$0] }.map { $0 + 1 } ?? -1
  }

  /// It is told what it asked for, and no more.
  private func judgeOptions(_ listener: Listener, _ call: Listener.Call) {
    let options = listener.options
    let isGreeting =
      options.contains(.initial) && call.old == nil && call.at == listener.calls.first { !$0.isPrior }?.at
    let hasOld = call.old != nil
    let isRight =
      (call.new != nil) == options.contains(.new) && (hasOld == options.contains(.old) || isGreeting)
      && (!call.isPrior || options.contains(.prior))
    checks.expect(.g21, isRight, "\(listener) was told what it had not asked for, or not what it had: \(call)")
  }

  private func judgeChain(_ listener: Listener, _ places: [Int]) {
    let guarantee: Guarantee = listener.place.isInline ? .g1 : .g13
    checks.count(guarantee, places.count)
    for (one, next) in zip(places, places.dropFirst()) where next != one + 1 {
      checks.violate(guarantee, "\(listener) was told of change \(next) after \(one)")
    }
  }

  /// It joins without a gap: where it was told how things are, with the change after that; in any case with one that was made about then.
  private func judgeBeginning(_ listener: Listener, _ greeting: Listener.Call?, _ places: [Int]) {
    var first = places.first
    if let greeting, let new = greeting.new {
      guard let at = place[new] else {
        return checks.violate(.g6, "\(listener) was greeted with a value that never was")
      }
      if let next = first {
        checks.expect(.g6, next == at + 1, "\(listener) was greeted with value \(at), then told of change \(next)")
      }
      first = at + 1
    }
    guard let first else { return }
    if first > 1 || greeting?.new != nil {
      // What it was not told of, or greeted with, had not been made after it was there.
      let missed = (1..<max(1, min(first, sent.count))).first { listener.adding.isBefore(sent[$0]) }
      checks.expect(.g6, missed == nil, "change \(missed ?? 0), made after \(listener) was added, never reached it")
    }
    let early = first < sent.count ? (first..<sent.count).first { sent[$0].isBefore(listener.adding) } : nil
    checks.expect(
      .g6, early == nil, "change \(early ?? 0), made before \(listener) was added, had not come to it by then")
  }

  /// It is told of every change until it is removed, or till the end.
  private func judgeEnd(_ listener: Listener, _ places: [Int], _ changes: ArraySlice<Listener.Call>) {
    guard let removing = listener.removing else {
      if let last = places.last {
        checks.expect(
          .g6, last == chain.count - 1, "the last change told to \(listener) is \(last) of \(chain.count - 1)")
      }
      return
    }
    checks.count(.g7, 1)
    for place in places where place > 0 && removing.isBefore(sent[place]) {
      checks.violate(.g7, "\(listener) was told of change \(place), made after its removal had returned")
    }
    let late = changes.count { $0.at > removing.end }
    let allowed = listener.options.contains(.prior) ? 2 : 1  // of a change in two parts
    if late > allowed { checks.violate(.g7, "\(late) calls of \(listener) began after its removal had returned") }
    guard listener.place.isInline else { return }
    let due = (1..<sent.count).last { done[$0] < removing.start && listener.adding.isBefore(sent[$0]) }
    if let due { checks.expect(.g6, (places.last ?? 0) >= due, "\(listener) was not told of change \(due)") }
  }

  /// So many changes as were made while it was there.
  private func judgeNumber(_ listener: Listener, _ number: Int) {
    var (must, may) = (0, 0)
    for place in 1..<max(1, sent.count) where !sent[place].isBefore(listener.adding) {
      if let removing = listener.removing, removing.isBefore(sent[place]) { continue }
      may += 1
      guard listener.adding.isBefore(sent[place]) else { continue }
      if let removing = listener.removing, !listener.place.isInline || done[place] >= removing.start { continue }
      must += 1
    }
    // One that was made before it was added can still be on its way: then the greeting tells of what was before.
    checks.expect(.g6, must <= number, "\(listener) was told of \(number) changes; \(must) had to reach it")
    context.must += must
    context.may += max(may, number)
    context.did += number
  }

  /// Every change that was made after it was added was announced to it.
  private func judgePriors(_ listener: Listener) {
    var announced: Set<Tone.Name> = []
    for call in listener.calls {
      guard let new = call.new else { continue }
      if call.isPrior {
        announced.insert(new)
      } else if let place = place[new], place > 0, listener.adding.isBefore(sent[place]) {
        checks.expect(.g21, announced.contains(new), "\(listener) was told of change \(place) and not before it")
      }
    }
  }
}
