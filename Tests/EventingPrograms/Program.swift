import Eventing

/// A program of steps on one event, performed one after the other on one thread. The handlers also
/// perform actions.
package struct Program: Sendable {
  enum Step: Sendable {
    case perform(Action)
    /// Sends a payload, and compares the report with the model's.
    case send(Int)
  }

  private let steps: [Step]

  /// Creates a program with the given number of random steps.
  package init(steps: Int, using random: inout some RandomNumberGenerator) {
    self.steps = (0..<steps).map { Program.step($0, using: &random) }
  }

  /// Creates a program from bytes.
  ///
  /// Each byte makes one decision, so a small change of the bytes is a small change of the program.
  /// The program ends after the last byte, or after 200 steps.
  package init(bytes: some Sequence<UInt8>) {
    var (steps, decisions) = ([Step](), Decisions(bytes))
    while !decisions.isEmpty, steps.count < 200 { steps.append(Program.step(steps.count, using: &decisions)) }
    self.steps = steps
  }

  private static func step(_ number: Int, using random: inout some RandomNumberGenerator) -> Step {
    let action = Action.random(using: &random)
    return Int.random(in: 0..<3, using: &random) == 0 ? .send(number) : .perform(action)
  }

  /// The result of a program.
  package struct ProgramResult: Sendable {
    package fileprivate(set) var calls = 0
    package fileprivate(set) var skips = 0
    /// The first difference from the model; `nil` if there was none.
    package fileprivate(set) var difference: String?
  }

  /// Performs the steps on an event and on the model.
  ///
  /// The two must agree after each step. At the end the event must have been released.
  package func run() async -> ProgramResult {
    var outcome = ProgramResult()
    weak var event: Event<Int>?
    do {
      let world = World()
      event = world.event
      for (number, step) in steps.enumerated() {
        switch step {
        case .perform(let action):
          world.perform(action)
          world.model.perform(action)
          world.model.drain()
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

/// A generator whose random numbers come from bytes, one byte each. When no byte is left, it
/// returns zeros.
private struct Decisions: RandomNumberGenerator {
  private var bytes: [UInt8]

  init(_ bytes: some Sequence<UInt8>) { self.bytes = bytes.reversed() }

  var isEmpty: Bool { bytes.isEmpty }

  /// Returns a number whose upper 8 bits are the next byte.
  ///
  /// The lower bits are neither all zeros nor all ones. So the standard library never rejects the
  /// number and asks for another one, which would cost a second byte.
  mutating func next() -> UInt64 { UInt64(bytes.popLast() ?? 0) << 56 | 0x0080_5A5A_5A5A_5A5A }
}
