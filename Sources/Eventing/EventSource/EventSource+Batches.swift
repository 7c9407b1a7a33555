// A batch is an array of payloads that a call or an element of a sequence delivers.

extension EventSource {
  /// Returns a view whose handlers and sequences receive several payloads at a time.
  ///
  ///     orders.batches(of: 100, within: .milliseconds(50)).addHandler { batch in
  ///       try await database.insert(batch)
  ///     }
  ///
  /// Each call gets the payloads that are waiting, in order: at least one and at most `count`. A
  /// slow handler therefore gets large batches, and a fast one small batches. With `limit`, a call
  /// waits until there are `count` payloads or the first one has waited that long.
  /// ``HandlerRegistry/quiesce()`` and ``HandlerRegistry/finish()`` cut this wait short.
  ///
  /// - **Outcome.** A call counts for every occurrence in its batch: either all are delivered, or
  ///   all fail with the same error. ``Event/send(_:from:)`` waits for its batch. A once handler
  ///   takes a single batch, even if a further view filters it out.
  /// - **Where.** A handler runs where its `on:` says, but never during the delivery. An inline
  ///   handler runs on a background queue, one on ``AsyncDelivery/task`` as with
  ///   ``AsyncDelivery/concurrent(limit:)`` and the limit `.max`, and one on the main actor in a
  ///   later block of the main queue.
  /// - **Bounds** (``HandlerOption/buffering(_:)``) count payloads. A full lane makes a batch at
  ///   once.
  /// - **Further views** of this one, and forwards from it, run as part of the call; a handler
  ///   behind them runs after that. If that handler throws, the occurrences of the batch fail. A
  ///   lock applies to batches that haven't begun: on the main actor or another actor, the handler
  ///   may still be called with one that has. ``HandlerRegistry/quiesce()`` and
  ///   ``HandlerRegistry/finish()`` don't cut short a pace, or a delay between attempts, behind a
  ///   further view. A batch counts as having come through the events that all of its payloads came
  ///   through, so it isn't forwarded to those again.
  /// - **Sequences** take whatever is waiting when the loop asks for the next batch. With `limit`
  ///   or keys, or behind a further view, their buffers hold batches.
  ///
  /// Propagated task-local values (``EventContext``) aren't bound, since a batch has several
  /// senders.
  ///
  /// - Parameters:
  ///   - count: The maximum number of payloads in a batch. A number below 1 counts as 1.
  ///   - limit: How long a batch waits for more payloads after its first one; `nil` not to wait.
  ///   - clock: The clock that measures `limit`.
  /// - Returns: A view of arrays that are never empty.
  /// - Complexity: O(1) for each payload.
  public nonisolated func batches(
    of count: Int, within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) -> some EventSource<[Payload]> {
    BatchSource(base: self, rule: BatchRule(of: Payload.self, count, limit, clock), key: nil)
  }

  /// Returns a view whose handlers and sequences receive several payloads of one key at a time.
  /// Otherwise like ``batches(of:within:clock:)``.
  ///
  /// The batches of a key come in order, one at a time. With ``AsyncDelivery/concurrent(limit:)``,
  /// the batches of different keys overlap: see ``HandlerOption/inOrder(by:)``.
  ///
  /// - Parameters:
  ///   - count: The maximum number of payloads in a batch. A number below 1 counts as 1.
  ///   - limit: How long a batch waits for more payloads after its first one; `nil` not to wait.
  ///   - key: A closure that returns the key of a payload. Called where the event delivers.
  ///   - clock: The clock that measures `limit`.
  public nonisolated func batches<Key: Hashable & Sendable>(
    of count: Int, within limit: Duration? = nil, by key: @escaping @Sendable (Payload) -> Key,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> some EventSource<[Payload]> {
    BatchSource(base: self, rule: BatchRule(of: Payload.self, count, limit, clock), key: KeyRule(by: key))
  }
}

struct BatchSource<Base: EventSource>: ViewSource {
  typealias Payload = [Base.Payload]

  let base: Base
  let rule: BatchRule
  let key: KeyRule?

  func converted(_ handler: Handler<[Base.Payload]>) -> Handler<Base.Payload> { handler.batched(rule, key) }
}

extension Handler {
  func batched<Element: Sendable>(_ rule: BatchRule, _ key: KeyRule?) -> Handler<Element>
  where Payload == [Element] {
    var modifiers = HandlerModifiers()
    var (place, body) = (any.place.forBatches, any.body)
    if case .sequence(let hub) = body, hub.batch == nil, rule.within == nil, key == nil {
      hub.gather(by: rule, of: Element.self)
    } else {
      if body.isTransformed || options.modifierBox?.modifiers.batch != nil {
        if case .concurrent = place, key != nil {} else { place = .inOrder(nil, any.place.buffering) }
        // A sequence has one buffer for all events that it is added to.
        let shared: Event<Payload>? = if case .sequence = any.place { privateEvent(nil) } else { nil }
        body = .perRecord { [self] record, anchor in .passing(passage(through: shared ?? privateEvent(record), anchor))
        }
      } else {
        modifiers = options.modifiers
        if modifiers.isRestarting || modifiers.key != nil {
          assertionFailure("expected no cancellingPrevious and no inOrder(by:) for batches: see batches(of:by:)")
        }
        if modifiers.isRestarting {
          // In a release build: without the option, and without the bound that it gave the handler.
          modifiers.isRestarting = false
          place = place.buffered(modifiers.bound(insteadOf: .unbounded))
        }
      }
      (modifiers.batch, modifiers.key) = (rule, key)
    }
    var handler = Handler<Element>(place, body)
    handler.options = options
    handler.options.letter = .same
    handler.options.modifierBox = modifiers.batch == nil ? nil : ModifierBox(modifiers)
    handler.isOnce = isOnce
    handler.any.source = any.source
    return handler
  }

  /// A private event carries on the paths and the transport's accounts of a batch's occurrences.
  private func privateEvent(_ record: DetailedRecord?) -> Event<Payload> {
    var handler = self
    handler.isOnce = false
    handler.options = HandlerOptions()
    handler.options.modifierBox = options.modifierBox
    handler.options.owner = options.owner
    handler.options.isForward = options.isForward
    handler.options.bridge = options.bridge
    let event = Event<Payload>(untold: nil)
    handler.options.sharedClaim = record.map { SharedClaim($0, of: nil, in: event.core.anchor) }
    event.add(handler)
    return event
  }

  private func passage(through event: Event<Payload>, _ anchor: EventAnchor) -> BatchPassage {
    { batch, completions, count in
      let completion = Completion(of: completions, count, at: anchor)
      return await event.begin(batch.payload(Payload.self), completion).wait().outcomeOfOnlyHandler
    }
  }
}

extension Completion {
  /// A batch's path is what the paths of all its occurrences have in common, so that cycles end but
  /// no new payload is cut off because of another one.
  fileprivate convenience init(of completions: [Completion], _ count: Int, at anchor: EventAnchor) {
    let (accounts, paths) = (completions.compactMap(\.account), completions.compactMap(\.path))
    self.init(
      .send, along: ForwardingPath(anchor, afterAll: paths.count == count ? paths : []),
      accountedIn: accounts.first?.joined(with: accounts.dropFirst(), isWhole: accounts.count == count))
  }
}

extension SendReport {
  fileprivate var outcomeOfOnlyHandler: Outcome {
    if let failure = failures.first { return .failed(failure) }
    if delivered > 0 { return .delivered }
    if dropped > 0 { return .dropped }
    return held + deferred > 0 ? .held : .skipped
  }
}

extension ExecutionPlace {
  fileprivate var forBatches: ExecutionPlace {
    switch self {
    case .inline: SyncDelivery.background.place
    case .task: .concurrent(.max, .unbounded)
    default: self
    }
  }
}
