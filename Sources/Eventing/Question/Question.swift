import Synchronization

/// A question that is enqueue to whoever has registered to answer.
///
///     let price = Question<String, Double>("price")
///     price.addResponder { item in try await store.price(of: item) }
///     let tea = try await price.first("tea", within: .seconds(1))
///
/// It is built on an ``Event``: what that guarantees of its handlers holds for responders. Each answers one question at a time, in order; they answer
/// independently of each other. Asking inside a responder is allowed: where the wait would be one for itself, that responder's answer is not waited for.
public struct Question<Query: Sendable, Answer: Sendable>: Sendable {
  private let event: Event<Inquiry<Query, Answer>>

  /// A question without responders.
  public init(_ name: String? = nil) { event = Event(name) }

  /// Adds a responder; its `nil` passes.
  ///
  /// - Parameters:
  ///   - name: for logs and snapshots.
  ///   - priority: the rank of its answer in ``all(_:within:clock:)``: higher ones first, then as they were added.
  ///   - buffering: how many questions may wait for it while it answers another one, and which are dropped beyond that; it passes on those.
  ///     Questions that nobody waits for any more are not enqueue to it, but count as waiting until their turn comes. No bound makes those who ask
  ///     wait: beyond ``Buffering/suspendingSender(_:)``, too, a question is dropped.
  ///   - body: what answers. An error is an answer for ``all(_:within:clock:)``; ``first(_:within:clock:)`` waits for another one.
  @discardableResult public func addResponder(
    named name: String? = nil, priority: Int = 0, buffering: Buffering = .unbounded,
    _ body: @escaping @Sendable (Query) async throws -> Answer?
  ) -> HandlerToken {
    let rank = Inquiry<Query, Answer>.Rank(
      priority: priority, number: HandlerRecord.nextID.wrappingAdd(1, ordering: .relaxed).oldValue)
    return event.addHandler(named: name, on: .inOrder(buffering: buffering), priority: priority) { inquiry in
      guard let query = inquiry.query else { return }  // it has ended
      do {
        if let answer = try await body(query) { inquiry.take(.success(answer), at: rank) }
      } catch {
        inquiry.take(.failure(error), at: rank)
        throw error
      }
    }
  }

  /// Removes a responder; false if it was gone, or is another question's.
  @discardableResult public func remove(_ token: HandlerToken) -> Bool { event.remove(token) }

  /// How many responders there are. O(responders).
  public var responderCount: Int { event.handlerCount }

  /// The first answer that comes. Responders that have begun finish by themselves; the others are not asked any more.
  ///
  /// - Parameters:
  ///   - query: what is asked.
  ///   - limit: how long to wait; `nil` until all have finished.
  ///   - clock: what measures that.
  /// - Throws: ``EventingError`` if all passed, or nobody answered in time; if nobody answered and some failed, the error of the first of these in the
  ///   order of the responders; `CancellationError` if the task is cancelled.
  public nonisolated(nonsending) func first(
    _ query: Query, within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) async throws -> Answer {
    let (end, replies) = await ask(Inquiry(query, wantsOne: true), within: limit, clock)
    for case .success(let answer) in replies { return answer }
    switch end {
    case .cancelled: throw CancellationError()
    case .late:
      throw EventingError(
        code: .timedOut, description: "expected an answer to \(query) within \(limit ?? .zero); none came")
    case .answered, .finished:
      if case .failure(let error) = replies.first { throw error }
      throw EventingError(
        code: .unanswered,
        description:
          "expected an answer to \(query); of \(responderCount) responder\(responderCount == 1 ? "" : "s") each passed, had no room for it, or waits for this very call"
      )
    }
  }

  /// What all answer, in the order of the responders. Those who pass, or are late, are left out; so are all that have not answered when the task is cancelled.
  public nonisolated(nonsending) func all(
    _ query: Query, within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) async -> [Result<Answer, any Error>] {
    await ask(Inquiry(query, wantsOne: false), within: limit, clock).replies
  }

  private nonisolated(nonsending) func ask(
    _ inquiry: Inquiry<Query, Answer>, within limit: Duration?, _ clock: any Clock<Duration>
  ) async -> (end: Inquiry<Query, Answer>.End, replies: [Result<Answer, any Error>]) {
    let ticket = event.submit(inquiry)
    // It belongs to the call that asks, so a wait for itself is seen; but only until that has its answer.
    let asking = Invocation.current.map { Invocation($0.executionSlot) }
    let reporting = Context.running.withValue(asking) {
      Scheduling.cancelledWhenDropped {
        // Given up as soon as the one who asks has an answer, or has gone: a responder may never return.
        if await ticket.completion.waitUnlessCancelled() { inquiry.end(.finished) }
      }
    }
    let timing = limit.flatMap { $0.isForever ? nil : $0 }.map { limit in
      Scheduling.cancelledWhenDropped {
        guard (try? await clock.sleep(for: limit)) != nil else { return }
        inquiry.end(.late)
      }
    }
    let outcome = await inquiry.wait()
    asking?.end()
    withExtendedLifetime((reporting, timing)) {}
    return outcome
  }
}

extension Question: CustomStringConvertible {
  /// Its name, query and answer.
  public var description: String {
    "question \(event.name.map { "\"\($0)\" " } ?? "")of \(Query.self), answered by \(Answer.self)"
  }
}
