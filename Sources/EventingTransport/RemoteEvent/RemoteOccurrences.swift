public import Eventing

/// A source of the whole occurrences of a ``RemoteEvent``, which it retains.
public struct RemoteOccurrences<Payload: Sendable>: EventSource {
  let remote: RemoteEvent<Payload>

  private var source: some EventSource<RemoteOccurrence<Payload>> { remote.event.map(\.occurrence) }

  @discardableResult public func add(_ handlers: [Handler<RemoteOccurrence<Payload>>]) -> [HandlerToken] {
    defer { remote.channel.listenings.readinessChanged() }
    return source.add(handlers)
  }

  @discardableResult public func attach(_ handler: Handler<RemoteOccurrence<Payload>>) -> HandlerToken {
    defer { remote.channel.listenings.readinessChanged() }
    return source.attach(handler)
  }

  @discardableResult public func remove(_ token: HandlerToken) -> Bool { remote.event.remove(token) }

  /// Returns a sequence of the occurrences: see ``RemoteEvent/payloads(buffering:)``.
  public func payloads(buffering: Buffering = .unbounded) -> some EventSequence<RemoteOccurrence<Payload>> {
    defer { remote.channel.listenings.readinessChanged() }
    return MarkedSequence(base: remote.marked { $0 }.payloads(buffering: buffering))
  }

  /// Returns a sequence of the occurrences that has a name: see
  /// ``RemoteEvent/payloads(named:buffering:)``.
  public func payloads(
    named name: String, buffering: Buffering = .unbounded
  ) -> some EventSequence<RemoteOccurrence<Payload>> {
    defer { remote.channel.listenings.readinessChanged() }
    return MarkedSequence(base: remote.marked { $0 }.payloads(named: name, buffering: buffering))
  }
}

extension RemoteEvent {
  /// Returns a sequence of the payloads that come from now on.
  ///
  ///     for await order in placed.payloads() { try await bill(order) }
  ///
  /// A message is acknowledged when the loop asks for the element after it. What the loop worked on
  /// when it ended comes again, and so does what waited in its buffer, or was dropped there. All
  /// else is as for ``Eventing/EventSource/payloads(buffering:)``.
  ///
  /// - Parameter buffering: How many payloads wait for a slow iterator, and which are dropped
  ///   beyond that.
  public func payloads(buffering: Buffering = .unbounded) -> some EventSequence<Payload> {
    defer { channel.listenings.readinessChanged() }
    return MarkedSequence(base: marked(\.payload).payloads(buffering: buffering))
  }

  /// Returns a sequence that has a name in snapshots and diagnostics, and for the verbs that take a
  /// name. Otherwise like ``payloads(buffering:)``.
  public func payloads(named name: String, buffering: Buffering = .unbounded) -> some EventSequence<Payload> {
    defer { channel.listenings.readinessChanged() }
    return MarkedSequence(base: marked(\.payload).payloads(named: name, buffering: buffering))
  }

  /// A view of elements with a mark for each handler, which must be a sequence.
  fileprivate func marked<Element: Sendable>(
    _ element: @escaping @Sendable (RemoteOccurrence<Payload>) -> Element
  ) -> some EventSource<Marked<Element>> {
    event.map { Marked(element: element($0.occurrence), mark: $0.loops.mark()) }
  }
}
