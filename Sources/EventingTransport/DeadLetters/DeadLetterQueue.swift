import Eventing

/// The dead letters of one subject, held while you decide what becomes of them.
///
///     let queue = try await DeadLetterQueue.open("dead.billing", over: orders)
///     for count in queue.counts { print(count) }
///     try await queue.sendAgain(queue.letters.filter { $0.handler == "charge the card" })
///     queue.discard(queue.letters.filter { $0.reason.contains("unknown customer") })
///     await queue.close()
///
/// An open queue holds its letters exclusively: a queue opened by another process doesn't get them.
/// Letters that were neither sent again nor discarded go back at ``close()`` or when the process
/// ends. Discarded letters, and those that were sent again, stay stored until their stream drops
/// them, but no queue of the same group gets them.
///
/// An inspector of the process shows the letters of an open queue, without their bodies, and can send
/// them again or discard them.
///
/// All methods may be called from any thread and inside any handler.
public final class DeadLetterQueue: Sendable {
  /// The number of letters with the same cause.
  public struct Count: Hashable, Sendable {
    /// The subject of the messages.
    public let subject: String
    /// The group that gave the messages up; `nil` for a listening without a group.
    public let group: String?
    /// The handler that failed; `nil` if no handler got the messages.
    public let handler: String?
    /// The error, or the reason why no handler got the messages.
    public let reason: String
    /// The number of letters.
    public let count: Int
  }

  private struct State: Sendable {
    var held: [RemoteDeadLetter.Place: HeldLetter] = [:]
    var subscription: (any TransportSubscription)?
    var isClosed = false
    var heldElsewhere = 0
    /// The number of the letter that was held last.
    var lastNumber: UInt64 = 0
    /// Counts letters that came and went.
    var changes = 0
  }

  private let state = Guarded(State())
  private let letterSubject: String
  private let transport: any Transport
  private let tables = Guarded<[LetterTable]>([])

  private init(_ subject: String, _ transport: any Transport) {
    (letterSubject, self.transport) = (subject, transport)
  }

  private func hideTables() {
    // Released after the unlock.
    _ = tables.withLock { tables in
      defer { tables = [] }
      return tables
    }
  }

  /// Lets an inspector of this process show the letters.
  private func makeTables() {
    let tables = LetterTable.Rows.allCases.map { LetterTable($0, of: self, letterSubject) }
    self.tables.withLock { $0 = tables }
    for table in tables { InspectedTables.add(table) }
  }

  deinit {
    let (rest, subscription) = state.withLock { (Array($0.held.values), $0.subscription) }
    subscription?.cancel()
    for held in rest { held.release() }
  }

  /// Opens a queue and waits until it holds the existing letters.
  ///
  /// - Parameters:
  ///   - subject: The subject that `listen(…, deadLetter:)` names.
  ///   - transport: A stream that stores the subject.
  ///   - target: The stream of the messages, to which ``sendAgain(_:)`` publishes; `nil` if it's
  ///     the same stream.
  ///   - group: The group of those who decide about letters. Each group gets all stored letters.
  ///   - limit: The maximum number of letters that the queue holds. Those that were stored first
  ///     come first.
  ///   - wait: The longest time to wait for existing letters.
  ///   - clock: The clock that measures `wait`.
  /// - Returns: The open queue.
  /// - Throws: ``TransportError``, as
  ///   ``RemoteEvent/listen(as:startingAt:inFlight:retry:deadLetter:deduplicating:)`` does. The
  ///   code is ``TransportError/Code/notPromised`` for a transport that stores nothing.
  public static func open(
    _ subject: String, over transport: any Transport, sendingTo target: (any Transport)? = nil,
    as group: String = "dead-letters", limit: Int = 10_000, within wait: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock()
  ) async throws -> DeadLetterQueue {
    try checkSubject(subject)
    try checkGroup(group)
    guard transport.promises.isAtLeastOnce else {
      throw TransportError(
        .notPromised, "expected a stream for the dead letters of \(subject); this transport stores nothing")
    }
    if limit < 1 { throw TransportError(.badOption, "expected room for 1 letter at least, got limit: \(limit)") }
    var options = SubscribeOptions()
    (options.group, options.start, options.inFlight) = (group, .first, limit)
    let queue = DeadLetterQueue(subject, target ?? transport)
    let subscription = try await transport.subscribe(subject, options) { [weak queue] letter in
      queue?.hold(letter) ?? DecidedMessage(decision: HeldLetter.back)
    }
    queue.state.withLock { $0.subscription = subscription }
    subscription.readinessChanged()
    try await queue.fill(from: transport, group, upTo: limit, within: wait, on: clock)
    queue.makeTables()
    return queue
  }

  private func fill<C: Clock<Duration>>(
    from transport: any Transport, _ group: String, upTo limit: Int, within wait: Duration, on clock: C
  ) async throws {
    let begin = clock.now
    while true {
      let backlog = try await transport.backlog(of: letterSubject, in: group)
      let missing = backlog.waiting + backlog.inHand - count
      if missing <= 0 || count >= limit || begin.duration(to: clock.now) >= wait {
        return state.withLock { $0.heldElsewhere = max(0, missing) }
      }
      try await Sleeping.sleep(for: .milliseconds(20), on: clock)
    }
  }

  /// The number of letters that were there when the queue was opened, and that it does not hold:
  /// another queue has them, they were given back a moment ago, or there are more than the limit.
  public var heldElsewhere: Int { state.withLock { $0.heldElsewhere } }

  private var count: Int { state.withLock { $0.held.count } }

  /// A letter that the engine redelivers is decided together with its first delivery.
  private func hold(_ message: RemoteMessage) -> any BegunMessage {
    let place = RemoteDeadLetter.Place(message)
    let held = state.withLock { state -> HeldLetter? in
      if state.isClosed { return nil }
      if let held = state.held[place] { return held }
      state.lastNumber += 1
      let held = HeldLetter(RemoteDeadLetter(message), number: state.lastNumber)
      state.held[place] = held
      state.changes += 1
      return held
    }
    return held.map { LetterDelivery(held: $0) } ?? DecidedMessage(decision: HeldLetter.back)
  }

  /// The letters that the queue holds, in the order of their messages, including those that arrived
  /// since it was opened, up to the limit.
  ///
  /// - Complexity: O(*n* log *n*) for *n* letters.
  public var letters: [RemoteDeadLetter] { allHeld.map(\.letter).sorted(by: RemoteDeadLetter.isBefore) }

  var allHeld: [HeldLetter] { state.withLock { Array($0.held.values) } }

  typealias Changed = (held: [HeldLetter], latest: UInt64, count: Int)

  /// Returns the letters, the number of the one that was held last, and the count of changes, if it
  /// is no longer `count`.
  func changed(since count: Int) -> Changed? {
    state.withLock { state in
      state.changes == count ? nil : (Array(state.held.values), state.lastNumber, state.changes)
    }
  }

  /// The numbers of letters by subject, group, handler and reason, in descending order.
  public var counts: [Count] { Count.counts(of: letters) }

  /// Publishes messages again, in order, and ends their letters.
  ///
  /// A message keeps its id, its headers and its body, and its attempts start over at 1. Only the
  /// group that gave it up handles it; listenings of other groups acknowledge it without handling
  /// it. If the message was given up by a listening without a group, it goes to all listenings. If
  /// the message is given up again, it becomes a new letter: see ``RemoteDeadLetter/deaths``.
  ///
  /// A message may be published twice if the process ends between its receipt and the end of its
  /// letter, and its stream no longer knows the id of the first publication.
  ///
  /// Calls may overlap: each letter is sent once. The messages of one call are in order; those of
  /// two calls may arrive in any order.
  ///
  /// A listening to dead letters may give a letter up. The letter of that letter comes back without
  /// its own subject, group and reason, so it can't be sent again from there.
  ///
  /// - Parameter letters: Letters of this queue. Those that it no longer holds are ignored.
  /// - Returns: The number of messages that were stored.
  /// - Throws: ``TransportError`` for the first letter that couldn't be sent. This letter and all
  ///   later ones stay in the queue. The code is ``TransportError/Code/tooLarge`` for an incomplete
  ///   letter.
  @discardableResult public func sendAgain(_ letters: [RemoteDeadLetter]) async throws -> Int {
    var count = 0
    for letter in letters.sorted(by: RemoteDeadLetter.isBefore) {
      guard let held = held(letter), held.begin() else { continue }
      do {
        guard letter.isComplete else {
          throw TransportError(
            .tooLarge,
            "expected a whole message to \(letter.subject); the letter of \(shown(letter.id)) was cut, because it was too large"
          )
        }
        guard letter.isLetter else {
          throw TransportError(
            .badSubject,
            "expected a dead letter that names the subject of its message; the message \(shown(letter.id)) on \(letterSubject) does not"
          )
        }
        try checkSubject(letter.subject)
        _ = try await transport.publish(letter.message, to: letter.subject)
      } catch {
        held.giveUp()
        throw error
      }
      count += 1
      end(held)
    }
    return count
  }

  /// Ends letters without sending their messages.
  ///
  /// - Parameter letters: Letters of this queue. Those that it no longer holds are ignored.
  /// - Returns: The number of letters that were ended.
  @discardableResult public func discard(_ letters: [RemoteDeadLetter]) -> Int {
    var count = 0
    for letter in letters {
      guard let held = held(letter), held.begin() else { continue }
      count += 1
      end(held)
    }
    return count
  }

  private func held(_ letter: RemoteDeadLetter) -> HeldLetter? {
    state.withLock { $0.held[letter.place] }
  }

  private func end(_ held: HeldLetter) {
    state.withLock { state in
      state.held[held.letter.place] = nil
      state.changes += 1
    }
    held.decide(.done)
  }

  /// Gives back the remaining letters and ends the queue. Further calls have no effect.
  public func close() async {
    hideTables()
    let (rest, subscription) = state.withLock { state in
      state.isClosed = true
      defer { state.held = [:] }
      return (Array(state.held.values), state.subscription)
    }
    for held in rest { held.release() }
    await subscription?.drain(within: .seconds(10))
  }
}

extension DeadLetterQueue.Count: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    "\(count) to \(subject)\(group.map { " in \($0)" } ?? ""), \(handler ?? "no handler"): \(reason)"
  }
}

extension DeadLetterQueue.Count {
  /// Returns the numbers of letters with the same cause, the largest first.
  package static func counts(of letters: [RemoteDeadLetter]) -> [DeadLetterQueue.Count] {
    let counts = Dictionary(grouping: letters, by: \.cause).map { cause, letters in
      DeadLetterQueue.Count(
        subject: cause.subject, group: cause.group, handler: cause.handler, reason: cause.reason, count: letters.count)
    }
    return counts.sorted { ($1.count, $0.description) < ($0.count, $1.description) }
  }
}

extension RemoteDeadLetter {
  /// Equal for letters that are counted together. Its count is 0.
  var cause: DeadLetterQueue.Count {
    DeadLetterQueue.Count(subject: subject, group: group, handler: handler, reason: reason, count: 0)
  }
}
