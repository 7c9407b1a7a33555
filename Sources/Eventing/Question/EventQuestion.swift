import Synchronization

/// A question that any number of registered responders can answer.
///
///     let price = EventQuestion<String, Double>("price")
///     price.addResponder { item in try await store.price(of: item) }
///     let tea = try await price.firstAnswer(to: "tea", within: .seconds(1))
///
/// A question is built on an ``Event``, whose guarantees for handlers apply to responders. Each
/// responder answers one query at a time, in order, and independently of the others. All methods
/// may be called from any thread or task. A copy refers to the same question.
///
/// **Inside a responder,** you can ask any question, including the responder's own. If waiting for
/// an answer would be a deadlock, that answer isn't waited for.
public struct EventQuestion<Query: Sendable, Answer: Sendable>: Sendable {
  let event: Event<Inquiry<Query, Answer>>

  /// Creates a question without responders.
  ///
  /// - Parameter name: The name in logs and snapshots.
  public init(_ name: String? = nil) { event = Event(name) }

  /// Adds a responder, effective on return.
  ///
  /// It answers one query at a time, in order. A bound (``HandlerOption/buffering(_:)``) limits how
  /// many queries may wait for it. If a query is dropped, the responder counts as having passed. A
  /// query whose caller has given up isn't answered but keeps its place until its turn comes. No
  /// bound makes a caller wait; even ``Buffering/suspendingSender(_:)`` drops queries.
  ///
  /// - Parameters:
  ///   - options: How the responder is called. The priority is also the rank of its answer in
  ///     ``answers(to:within:clock:)``: higher priorities come first, then answers follow the order
  ///     in which the responders were added.
  ///   - fileID: The file where the responder is created, for snapshots and diagnostics.
  ///   - line: The line where the responder is created.
  ///   - body: The closure that answers. It passes by returning `nil`. An error counts as an answer
  ///     for ``answers(to:within:clock:)``, while ``firstAnswer(to:within:clock:)`` waits for
  ///     another answer.
  /// - Returns: A token that identifies the responder. Dropping it has no effect.
  /// - Complexity: O(1), or O(priorities) for the first responder of a priority.
  @discardableResult public func addResponder(
    _ options: HandlerOption<Query>..., fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable (Query) async throws -> Answer?
  ) -> HandlerToken { addResponder(options, fileID: fileID, line: line, body) }

  package func addResponder<Other>(
    _ options: [HandlerOption<Other>], fileID: StaticString, line: UInt,
    _ body: @escaping @Sendable (Query) async throws -> Answer?
  ) -> HandlerToken {
    var responder = Handler<Inquiry<Query, Answer>>(
      AsyncDelivery.inOrder.place, HandlerBody(async: { (_: Inquiry<Query, Answer>) in }), [], SourceLine(fileID, line))
    responder.any.apply(options.map(\.setting))
    let rank = Inquiry<Query, Answer>.Rank(
      priority: responder.options.priority,
      number: HandlerRecord.nextID.wrappingAdd(1, ordering: .relaxed).oldValue)
    // Its calls come in order anyway, and its payload isn't a query.
    if responder.options.modifierBox != nil { responder.options.modifiers.key = nil }
    let timedOut = responder.options.modifierBox?.modifiers.timeLimit?.error
    let respond: @Sendable (Inquiry<Query, Answer>) async throws -> Void = { inquiry in
      guard let query = inquiry.query else { return }  // nothing waits for an answer anymore
      do {
        let answer = try await body(query)
        if Task.isCancelled { throw CancellationError() }
        if let answer { inquiry.take(.success(answer), at: rank) }
      } catch {
        if !Task.isCancelled {
          inquiry.take(.failure(error), at: rank)
        } else if let timedOut {
          inquiry.take(.failure(timedOut), at: rank)
        }  // otherwise a later query cancelled the call, and the responder passes
        throw error
      }
    }
    responder.any.body = HandlerBody(async: respond)
    return event.add(responder)
  }

  /// A source of the errors that responders throw, even after another answer has come: see
  /// ``Event/failures``.
  public var failures: some EventSource<HandlerFailure> { event.failures }

  /// Asks all responders and returns the first answer.
  ///
  /// Responders that have begun by then run to completion. The others are no longer asked. If the
  /// task is cancelled, this throws at once.
  ///
  /// - Parameters:
  ///   - query: The query that the responders receive.
  ///   - limit: How long to wait. `nil`, or more than a hundred years, means until every responder
  ///     has finished.
  ///   - clock: The clock that measures `limit`.
  /// - Returns: The first answer that is neither `nil` nor an error.
  /// - Throws: An ``EventingError`` of the kind ``EventingError/timedOut`` if no answer came in
  ///   time. If every responder has finished without an answer, the error of the first one that
  ///   threw, in the order of the responders, or ``EventingError/unanswered`` if none threw.
  ///   `CancellationError` if the task is cancelled.
  /// - Complexity: O(responders).
  public nonisolated(nonsending) func firstAnswer(
    to query: Query, within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) async throws -> Answer {
    let (end, replies) = await replies(to: Inquiry(query, wantsOne: true), within: limit, clock)
    for case .success(let answer) in replies { return answer }
    switch end {
    case .cancelled: throw CancellationError()
    case .late:
      throw EventingError(.timedOut, "expected an answer to the \(self) within \(limit ?? .zero); none came")
    case .answered, .finished:
      if case .failure(let error) = replies.first { throw error }
      throw EventingError(
        .unanswered,
        "expected an answer to the \(self); there are \(handlerCount) responders, and each that was asked passed, had no room, or waits for this call"
      )
    }
  }

  /// Asks all responders and returns their answers and errors in the order of the responders.
  ///
  /// Responders that are late, or that decline to answer by returning `nil`, don't appear in the
  /// result. If the task is cancelled, this returns at once with the answers so far.
  ///
  /// - Parameters:
  ///   - query: The query that the responders receive.
  ///   - limit: How long to wait: see ``firstAnswer(to:within:clock:)``.
  ///   - clock: The clock that measures `limit`.
  /// - Returns: The answers and errors, by descending priority and then in the order in which the
  ///   responders were added.
  /// - Complexity: O(responders × log responders).
  public nonisolated(nonsending) func answers(
    to query: Query, within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) async -> [Result<Answer, any Error>] {
    await replies(to: Inquiry(query, wantsOne: false), within: limit, clock).replies
  }

  private nonisolated(nonsending) func replies(
    to inquiry: Inquiry<Query, Answer>, within limit: Duration?, _ clock: any Clock<Duration>
  ) async -> (end: Inquiry<Query, Answer>.End, replies: [Result<Answer, any Error>]) {
    let ticket = event.submit(inquiry)
    // If a handler asks, the wait graph treats the task `reporting`, which waits for all
    // responders, as part of the handler's call until `asking.end()`, so that a cycle of waits is
    // found.
    let asking = Invocation.current.map { Invocation($0.executionSlot) }
    let reporting = Context.invocation.withValue(asking) {
      Scheduling.cancelledWhenDropped {
        // Cancelled once the caller has its answer or is gone, because a responder may never
        // return.
        if await ticket.completion.waitUnlessCancelled() { inquiry.end(.finished) }
      }
    }
    let timing = limit.flatMap { $0.isForever ? nil : $0 }.map { limit in
      Scheduling.cancelledWhenDropped {
        guard (try? await Sleeping.sleep(for: limit, on: clock)) != nil else { return }
        inquiry.end(.late)
      }
    }
    let outcome = await inquiry.wait()
    asking?.end()
    withExtendedLifetime((reporting, timing)) {}
    return outcome
  }
}

extension EventQuestion: HandlerRegistry {
  /// The responders. A locked responder isn't asked and counts as having passed.
  public var handlerTable: HandlerTable { HandlerTable(content: .event(BorrowedCore(event), .question)) }
}

extension EventQuestion: CustomStringConvertible {
  /// The name, the query type and the answer type.
  public var description: String {
    "question \(event.name.map { "\"\($0)\" " } ?? "")of \(Query.self), answered by \(Answer.self)"
  }
}

// Safe: all mutable fields are guarded by `mutex`.
@safe package final class Inquiry<Query: Sendable, Answer: Sendable>: @unchecked Sendable {
  typealias Reply = Result<Answer, any Error>

  struct Rank: Sendable {
    let priority: Int
    let number: UInt64

    func isBefore(_ other: Rank) -> Bool {
      priority != other.priority ? priority > other.priority : number < other.number
    }
  }

  enum End: Sendable { case answered, finished, late, cancelled }

  private let wantsOne: Bool
  private let mutex = UnfairMutex()

  /// `nil` after the end, because a responder may retain the inquiry forever. Guarded by: mutex.
  @exclusivity(unchecked) private var asked: Query?
  // Guarded by: mutex.
  @exclusivity(unchecked) private var replies: [(rank: Rank, reply: Reply)] = []
  // Guarded by: mutex.
  @exclusivity(unchecked) private var end: End?
  /// Awake after the end.
  private let sleeper = Sleeper()

  init(_ query: Query, wantsOne: Bool) {
    unsafe asked = query
    self.wantsOne = wantsOne
  }

  var query: Query? { mutex.withLock { unsafe asked } }

  func take(_ reply: Reply, at rank: Rank) {
    var replaced: Reply?
    defer { withExtendedLifetime(replaced) {} }  // released outside the mutex
    let isFirst = mutex.withLock {
      guard unsafe end == nil else { return false }
      if let index = unsafe replies.firstIndex(where: { $0.rank.number == rank.number }) {
        replaced = unsafe replies[index].reply
        unsafe replies[index].reply = reply
      } else {
        unsafe replies.append((rank, reply))
      }
      if case .success = reply { return wantsOne }
      return false
    }
    if isFirst { end(.answered) }
  }

  func end(_ end: End) {
    let asked = mutex.withLock {
      if unsafe self.end == nil { unsafe self.end = end }
      return unsafe self.asked.take()
    }
    withExtendedLifetime(asked) {}  // released outside the mutex
    // The cancellation of the caller's task already holds the lock of that task.
    sleeper.wake(isPosting: end != .cancelled)
  }

  func wait() async -> (end: End, replies: [Reply]) {
    await withTaskCancellationHandler {
      await sleeper.sleep()
    } onCancel: {
      end(.cancelled)
    }
    // Takes the answers out, because a slow responder may retain the inquiry long after the caller
    // is gone.
    let (reason, replies) = mutex.withLock {
      defer { unsafe self.replies = [] }
      return unsafe (self.end ?? .finished, self.replies)
    }
    return (reason, replies.sortedUnspecialized { $0.rank.isBefore($1.rank) }.map(\.reply))
  }
}
