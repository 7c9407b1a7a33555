import Eventing

/// The state is in the ``MemoryState``.
final class MemorySubscription: TransportSubscription {
  let id: UInt64
  let filter: SubjectFilter
  let options: SubscribeOptions
  let group: UInt64?
  let begin: @Sendable (RemoteMessage) -> any BegunMessage
  private weak let engine: InMemoryTransport?

  init(
    _ id: UInt64, _ filter: SubjectFilter, _ options: SubscribeOptions, group: UInt64?, _ engine: InMemoryTransport,
    _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) {
    self.id = id
    self.filter = filter
    self.options = options
    self.group = group
    self.engine = engine
    self.begin = begin
  }

  func readinessChanged() { engine?.wake(self) }
  func drain(within limit: Duration) async { await engine?.drain(self, within: limit) }
  func cancel() { engine?.cancel(self) }
}
