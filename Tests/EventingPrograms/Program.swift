import Eventing

/// What to do to an event, one step after the other, on one thread; the handlers do things, too.
package struct Program: Sendable {
  enum Step: Sendable {
    case perform(Action)
    /// The only ones whose report is compared: what is posted has none.
    case send(Int)
  }

  private let steps: [Step]

  /// So many random steps.
  package init(steps: Int, using random: inout some RandomNumberGenerator) {
    self.steps = (0..<steps).map { Program.step($0, using: &random) }
  }

  /// What bytes say, until they end; each decides one thing, so that a small change of them is a small change of the program.
  package init(bytes: some Sequence<UInt8>) {
    var (steps, decisions) = ([Step](), Decisions(bytes))
    while !decisions.isEmpty, steps.count < 200 { steps.append(Program.step(steps.count, using: &decisions)) }
    self.steps = steps
  }

  private static func step(_ number: Int, using random: inout some RandomNumberGenerator) -> Step {
    let action = Action.random(using: &random)
    return Int.random(in: 0..<3, using: &random) == 0 ? .send(number) : .perform(action)
  }

  /// What came of a program.
  package struct Outcome: Sendable {
    package fileprivate(set) var calls = 0
    package fileprivate(set) var skips = 0
    /// What was not as the model says; nil if all was.
    package fileprivate(set) var difference: String?
  }

  /// Does it to an event and to the model; the two have to agree after each step, and in the end nothing may be left.
  package func run() async -> Outcome {
    var outcome = Outcome()
    weak var event: Event<Int>?
    do {
      let world = World()
      event = world.event
      for (number, step) in steps.enumerated() {
        switch step {
        case .perform(let action):
          world.perform(action)
          world.model.perform(action)
          world.model.settle()
        case .send(let payload):
          let report = await world.event.send(payload)
          let expected = world.model.send(payload)
          outcome.calls += expected.delivered
          outcome.skips += expected.skipped
          guard expected.isThatOf(report) else {
            outcome.difference = "step \(number), \(step): expected \(expected), got \(report)"
            return outcome
          }
        }
        guard world.isAsTheModelSays else {
          outcome.difference = "step \(number), \(step): \(world.difference)"
          return outcome
        }
      }
    }
    if event != nil { outcome.difference = "the event is alive after the program" }
    return outcome
  }
}

/// Bytes as random numbers: each number is one byte, scaled. Zeros when they have ended.
private struct Decisions: RandomNumberGenerator {
  private var bytes: [UInt8]

  init(_ bytes: some Sequence<UInt8>) { self.bytes = bytes.reversed() }

  var isEmpty: Bool { bytes.isEmpty }

  /// The byte decides what is made of the upper bits; the lower are neither all zeros nor all ones, so that none is refused and asked for again.
  mutating func next() -> UInt64 { UInt64(bytes.popLast() ?? 0) << 56 | 0x0080_5A5A_5A5A_5A5A }
}
