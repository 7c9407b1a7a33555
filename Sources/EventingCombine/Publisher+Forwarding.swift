#if canImport(Combine)
  public import Combine
  public import Eventing

  extension Publisher where Failure == Never, Output: Sendable {
    /// Posts every value of the publisher to an event.
    ///
    ///     model.$name.forward(to: renamed).store(in: &cancellables)
    ///
    /// The demand is unlimited. The thread that publishes a value calls
    /// ``Event/post(_:from:)``. When the publisher completes, nothing happens to the event.
    ///
    /// - Parameters:
    ///   - target: The event that receives the values.
    ///   - strongly: Whether the forward retains the event. Otherwise the values are dropped once
    ///     the event is released.
    /// - Returns: The forward. It ends when the returned object is cancelled or released.
    public func forward(to target: Event<Output>, strongly: Bool = false) -> AnyCancellable {
      let strongTarget = strongly ? target : nil
      return sink { [weak target] value in
        _ = strongTarget  // retains the event
        target?.post(value)
      }
    }
  }
#endif
