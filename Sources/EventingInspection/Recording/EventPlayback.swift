import Eventing
public import Foundation

/// Sends again what an ``EventRecording`` has written.
///
///     let replay = try EventPlayback("monday.jsonl")
///     try await replay.run(
///       at: .asRecorded, into: ["orders": .event(orders), "cancelled": .signal(cancelled)])
///
/// Occurrences are sent in the order of the file, over all events. For each sender in the file, the
/// replay makes one object, and names it as the sender. With a `Simulation`'s clock a replay runs
/// in a simulation, too: the same seed gives the same schedule.
public struct EventPlayback: Sendable {
  /// The times at which occurrences are sent.
  public struct Pace: Sendable {
    /// `nil` for no waiting.
    let factor: Double?

    /// Replays at the recorded speed.
    public static var asRecorded: Pace { Pace(factor: 1) }
    /// Replays at a multiple of the recorded speed.
    ///
    /// - Parameter factor: The factor. One that is not above 0 counts as 1.
    public static func times(_ factor: Double) -> Pace { Pace(factor: factor > 0 ? factor : 1) }
    /// Sends each occurrence when all handlers of the occurrence before have finished.
    public static var asFastAsPossible: Pace { Pace(factor: nil) }
  }

  /// The treatment of a damaged line: one that is cut or cannot be decoded, that stands for
  /// occurrences which were not recorded, or whose event has no target.
  public struct Damage: Sendable {
    let isSkipped: Bool

    /// Skips damaged lines and lists them in ``Outcome/damaged``. In the recorded run, handlers of
    /// such an occurrence may have sent further ones. Those are skipped, too, and counted in
    /// ``Outcome/lostCauses``, unless the replay runs with `withCaused`.
    public static var skip: Damage { Damage(isSkipped: true) }
    /// The first damaged line makes the replay throw an ``InspectionError``, before anything is
    /// sent.
    public static var refuse: Damage { Damage(isSkipped: false) }
  }

  /// The result of a replay.
  public struct Outcome: Sendable {
    /// The number of occurrences that were sent.
    public let sentCount: Int
    /// The lines that were left out because of damage, with their numbers, from 1 for the first
    /// line of the file.
    public let damaged: [(line: Int, reason: String)]
    /// The occurrences that were left out because an earlier occurrence was not sent. In the
    /// recorded run, handlers of that earlier occurrence sent them. But its line is damaged or
    /// missing, so the replay neither sends it nor calls its handlers. Each element stands for one
    /// such earlier occurrence. `cause` is its number `n` in the file. `count` is the number of
    /// left-out occurrences that it led to, directly or through others. The elements ascend by
    /// `cause`.
    public let lostCauses: [(cause: Int, count: Int)]
    /// The number of occurrences that are missing in the recording, since they came faster than
    /// they could be written.
    public let lostCount: Int
    /// Whether the recording has its last line, so that it was ended and not cut.
    public let isComplete: Bool
  }

  private let file: ReplayFile
  private let damage: Damage

  /// Reads a recording.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - damaged: The treatment of damaged lines.
  /// - Throws: An ``InspectionError`` if the file cannot be read, is no recording, or is a
  ///   recording of another version. If `damaged` is ``Damage/refuse``, also for the first damaged
  ///   line.
  public init(_ path: String, damaged: Damage = .refuse) throws {
    try self.init(URL(fileURLWithPath: path), damaged: damaged)
  }

  /// Reads a recording.
  ///
  /// - Parameters:
  ///   - file: The location of the file.
  ///   - damaged: The treatment of damaged lines.
  /// - Throws: See ``init(_:damaged:)``.
  public init(_ file: URL, damaged: Damage = .refuse) throws {
    self.file = try ReplayFile(file)
    damage = damaged
    if !damaged.isSkipped, let first = self.file.damaged.first { throw ReplayFile.error(first.line, first.reason) }
  }

  /// Sends all occurrences, and returns when their handlers have finished.
  ///
  /// In the recorded run, a handler may have sent an occurrence while it handled another one. Such
  /// an occurrence is left out, since the handler sends it again: see `withCaused`.
  ///
  /// - Parameters:
  ///   - pace: The times at which occurrences are sent.
  ///   - targets: The events by the names that they were recorded under.
  ///   - withCaused: Whether to send also the occurrences that handlers of recorded occurrences
  ///     sent. Then the targets should have no handlers that send these occurrences again.
  ///   - clock: The clock of the pace.
  /// - Returns: The number of occurrences that were sent, and the lines and occurrences that were
  ///   left out because of damage.
  /// - Throws: An ``InspectionError``, before anything is sent, for a damaged line, if damaged
  ///   lines are refused. `CancellationError` if the task is cancelled before the last occurrence
  ///   is sent.
  /// - Complexity: O(*n*) for *n* lines, which are decoded before the first one is sent.
  @discardableResult public nonisolated(nonsending) func run(
    at pace: Pace = .asRecorded, into targets: [String: Target], withCaused: Bool = false,
    clock: any Clock<Duration> = ContinuousClock()
  ) async throws -> Outcome {
    var damaged = file.damaged
    let deliveries = try decode(into: targets, withCaused, &damaged)
    let pause = EventPlayback.pause(pace, on: clock)
    var senders: [Int: ReplayedSender] = [:]
    for delivery in deliveries {
      try await pause(delivery.time)
      let sender = delivery.sender.map { number in
        let sender = senders[number] ?? ReplayedSender()
        senders[number] = sender
        return sender
      }
      await delivery.body(sender, pace.factor == nil)
    }
    // A handler of one target may send to a target that the inner loop has already waited for. So
    // the outer loop repeats the waits for all targets, once for each target. The inner loop takes
    // the targets in the order of their names, so that a simulation repeats the order.
    let ordered = targets.sorted { $0.key < $1.key }.map(\.value)
    for _ in ordered { for target in ordered { await target.quiesce() } }
    return Outcome(
      sentCount: deliveries.count, damaged: damaged.sorted { $0.line < $1.line },
      lostCauses: withCaused ? [] : lostCauses(Set(damaged.map(\.line))), lostCount: file.lostCount,
      isComplete: file.isComplete)
  }

  private struct Delivery {
    let time: Duration
    let sender: Int?
    let body: Target.Delivery
  }

  private func decode(
    into targets: [String: Target], _ withCaused: Bool, _ damaged: inout [(line: Int, reason: String)]
  ) throws -> [Delivery] {
    var deliveries: [Delivery] = []
    for entry in file.entries where withCaused || entry.cause == nil {
      do {
        guard let target = targets[entry.name] else {
          let names = targets.keys.sorted().joined(separator: ", ")
          throw InspectionError(
            .noTarget, "expected a target for \(entry.name), got some for: \(names)", line: entry.line)
        }
        guard let decode = target.decode else { continue }
        let body: Target.Delivery
        do { body = try decode(entry.text) } catch {
          let type = file.types[entry.name] ?? "an unknown type"
          // The error itself may quote the payload.
          let reason = textWithoutValues(of: error) ?? "a \(Swift.type(of: error))"
          throw ReplayFile.error(
            entry.line, "expected a payload that was recorded as \(type); the decoder says: \(reason)")
        }
        deliveries.append(Delivery(time: .nanoseconds(entry.time), sender: entry.sender, body: body))
      } catch let error as InspectionError where damage.isSkipped { damaged.append((entry.line, error.description)) }
    }
    return deliveries
  }

  /// The occurrences whose lines are damaged or missing, each with the number of occurrences that
  /// are left out because it led to them.
  private func lostCauses(_ damaged: Set<Int>) -> [(cause: Int, count: Int)] {
    var present: Set<Int> = []
    /// By the number of a left-out occurrence: the damaged or missing one that led to it.
    var lost: [Int: Int] = [:]
    var counts: [Int: Int] = [:]
    // The line of a cause stands before the lines of the occurrences that it led to.
    for entry in file.entries {
      guard let cause = entry.cause else {
        if let number = entry.number, !damaged.contains(entry.line) { present.insert(number) }
        continue
      }
      if let root = present.contains(cause) ? nil : lost[cause] ?? cause {
        counts[root, default: 0] += 1
        if let number = entry.number { lost[number] = root }
      } else if let number = entry.number {
        present.insert(number)
      }
    }
    return counts.sorted { $0.key < $1.key }.map { (cause: $0.key, count: $0.value) }
  }

  private static func pause<Time: Clock>(
    _ pace: Pace, on clock: Time
  ) -> @Sendable (Duration) async throws -> Void where Time.Duration == Duration {
    guard let factor = pace.factor else { return { _ in try Task.checkCancellation() } }
    let start = clock.now
    return { time in
      let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
      // No pause is longer than a hundred years, so that no clock overflows.
      let scaled =
        factor == 1 ? min(time, .seconds(3_200_000_000)) : Duration.seconds(min(seconds / factor, 3.2e9))
      try await clock.sleep(until: start.advanced(by: scaled), tolerance: nil)
    }
  }
}
