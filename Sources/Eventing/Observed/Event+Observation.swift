import Observation

extension Event {
  /// Creates an event that posts a value computed from `@Observable` objects, now and after each
  /// change.
  ///
  ///     let count = Event(observing: { @MainActor in model.items.count })
  ///
  /// The first value is posted by a task soon after the event was created. A handler that is added
  /// on the next line may come too late for it. Changes that follow one another before the closure
  /// is evaluated again arrive as one payload.
  ///
  /// The event retains the closure and what it captures. The observation does not retain the event,
  /// and ends when the last reference to the event goes.
  ///
  /// - Parameter value: A closure that computes the payload from `@Observable` objects. It is
  ///   evaluated where it is isolated, for instance on the main actor.
  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  public init(observing value: @escaping @isolated(any) @Sendable () -> Payload) {
    self.init()
    let values = Observations(value)
    keep(
      Scheduling.cancelledWhenDropped { [weak self] in
        for await value in values {
          guard let self else { return }
          self.post(value)
        }
      })
  }
}
