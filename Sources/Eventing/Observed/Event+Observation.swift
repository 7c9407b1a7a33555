import Observation

extension Event {
  /// An event of a value that is computed from `@Observable` objects: as it is after each change.
  ///
  /// It begins to look soon after it was made, and sends the value as it is then, too: a handler that is added on the next line may come too late for that one.
  ///
  ///     let count = Event(observing: { @MainActor in model.items.count })
  ///
  /// Several changes between two looks, which are made where the closure is isolated, come as one. The event does not keep itself alive; when it goes it stops
  /// looking. What the closure captures is kept until then.
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
