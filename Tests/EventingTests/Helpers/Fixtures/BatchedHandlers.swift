@testable import Eventing

extension Handler {
  /// The handler as `batches(of:within:clock:)` adds it, for tests that add the same handler to
  /// several events or give it further options.
  func batched<Element: Sendable>(
    of count: Int, within limit: Duration? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) -> Handler<Element> where Payload == [Element] {
    batched(BatchRule(of: Element.self, count, limit, clock), nil)
  }

  /// The handler as `batches(of:within:by:clock:)` adds it.
  func batched<Element: Sendable, Key: Hashable & Sendable>(
    of count: Int, within limit: Duration? = nil, by key: @escaping @Sendable (Element) -> Key,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Handler<Element> where Payload == [Element] {
    batched(BatchRule(of: Element.self, count, limit, clock), KeyRule(by: key))
  }
}
