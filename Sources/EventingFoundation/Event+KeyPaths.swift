#if canImport(ObjectiveC)
  public import Eventing
  public import Foundation

  // Linux has no Objective-C, so CI on Linux checks only the syntax of this file.

  extension Event {
    /// Creates an event that posts the changes of a property of an Objective-C object.
    ///
    /// The event observes the object until the event is released, and does not retain the object.
    /// If the event is idle, inline handlers run on the thread that changes the property, before
    /// the change returns. If it is busy, they run later, and on any thread.
    ///
    /// - Parameters:
    ///   - object: The object to observe.
    ///   - keyPath: The property. It must be observable by key-value observing.
    ///   - prior: Whether the event also posts before each change, with ``ValueChange/isPrior``
    ///     set. Key-value observing does not know the new value then: ``ValueChange/new`` is the
    ///     old one.
    public init<Object: NSObject, Value: Sendable>(
      observing object: Object, _ keyPath: KeyPath<Object, Value>, prior: Bool = false
    ) where Payload == ValueChange<Value> {
      self.init("\(keyPath)")
      let observation = object.observe(keyPath, options: prior ? [.old, .new, .prior] : [.old, .new]) {
        [weak self] _, change in
        guard let new = change.newValue ?? change.oldValue else { return }
        self?.post(ValueChange(old: change.oldValue, new: new, isPrior: change.isPrior))
      }
      keep(KeyPathObservation(observation))
    }
  }

  // Safe: the only property is immutable, and `invalidate` may be called from any thread.
  private final class KeyPathObservation: @unchecked Sendable {
    private let observation: NSKeyValueObservation
    init(_ observation: NSKeyValueObservation) { self.observation = observation }
    deinit { observation.invalidate() }
  }
#endif
