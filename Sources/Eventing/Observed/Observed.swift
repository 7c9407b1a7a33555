public import Observation

/// A value whose changes are an event.
///
///     final class Player { @Observed var volume = 0.5 }         // or an actor or @MainActor class
///     final class Mixer: Sendable { let gain = Observed(0.5) }  // where no wrapper can be
///
///     player.$volume.changes(initial: true).addHandler { change in print(change) }
///     mixer.gain.value = 0.7
///
/// The value can be read and set from any thread. A read after a set returns the value that was set
/// or a later one. Handlers receive the changes in the order in which the value took them, each
/// with the previous value. Setting an equal value is a change, too.
///
/// Reading, computing and setting are three steps, so one of two racing threads may overwrite the
/// other's result. Use ``update(_:)`` to compute a value from the old one.
///
/// ``combineLatest(_:)`` gives you a view of two values together. Because an `Observed` takes part
/// in Swift's Observation, a SwiftUI view that reads ``value`` is updated when it changes.
///
/// An `Observed` is a reference: its copies share one value and one event.
@propertyWrapper
public struct Observed<Value: Sendable>: Sendable {
  @usableFromInline let storage: Storage

  /// Creates a value without handlers.
  ///
  /// - Parameters:
  ///   - value: The initial value.
  ///   - name: A name for logs, occurrences and snapshots.
  ///   - policy: How to treat handlers that throw. By default, their errors are only collected.
  public init(_ value: Value, name: String? = nil, onFailure policy: FailurePolicy = .collect) {
    storage = Storage(value, name, policy)
  }
  /// Creates the value of a property; the compiler calls this for `@Observed` and for
  /// `@Observed("volume")`.
  public init(wrappedValue: Value, _ name: String? = nil, onFailure policy: FailurePolicy = .collect) {
    self.init(wrappedValue, name: name, onFailure: policy)
  }

  /// The current value.
  ///
  /// A read holds a mutex for a few instructions, and Observation may track it. On x86-64 Linux, a
  /// read takes about 120 instructions until some thread of the process reads an `Observed` under
  /// tracking. From then on, each read asks Observation and takes about 1,000 instructions.
  ///
  /// Setting the value delivers the change as ``Event/post(_:from:)`` delivers a payload, without
  /// waiting. If the event is idle, inline handlers have returned by the time the setter does.
  ///
  /// Inside a handler of changes, setting the value takes effect at once, and the new change is
  /// delivered after the current one has reached every handler.
  ///
  /// - Complexity: O(1) to read, O(*n*) to set with *n* handlers.
  @inlinable public var value: Value {
    get {
      if Tracking.isUsed, let reads = storage.reportRead() { return storage.trackedValue(of: reads) }
      return storage.value
    }
    nonmutating set { storage.set(newValue) }
  }

  /// The current value of the property; see ``value``.
  @inlinable public var wrappedValue: Value {
    get { value }
    nonmutating set { value = newValue }
  }

  /// The value together with its event, to add handlers to: `player.$volume`.
  ///
  /// It can also set the value. A property with `private(set)` doesn't prevent that: pass
  /// ``source`` on instead.
  @inlinable public var projectedValue: Observed { self }

  /// Changes the value in one step: no other change comes between reading and setting it.
  ///
  /// If another thread changes the value in the meantime, `change` is called again with the newer
  /// value. Handlers of announcements (``Observed/changes(initial:prior:)``) may then be called
  /// again, too. Otherwise, handlers are called as they are when you set ``value``.
  ///
  ///     let isTaken = stock.update { count in
  ///       guard count > 0 else { return false }
  ///       count -= 1
  ///       return true
  ///     }
  ///
  /// - Parameter change: A closure that changes the value it is given. It runs on the calling
  ///   thread with no mutex held. It must not set or update this `Observed`: a debug build stops if
  ///   it does, and in a release build, the result of `change` overwrites what it has set.
  /// - Returns: The result of the last call of `change`.
  /// - Throws: The error that `change` throws, in which case the value stays as it is.
  /// - Complexity: That of setting ``value``, plus one call of `change` per attempt.
  @discardableResult public func update<Result, Failure: Error>(
    _ change: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var result: Result?
    try storage.update { old throws(Failure) in
      var value = old
      result = try change(&value)
      return value
    }
    guard let result else { preconditionFailure("an update calls its closure") }
    return result
  }
}

/// Views, `withObservationTracking` and `Observations` that read ``Observed/value`` are notified of
/// its next change.
///
///     struct VolumeView: View {
///       let player: Player
///       var body: some View { Text("Volume \(player.volume)") }  // follows the volume
///     }
///
/// - **Once.** Each tracked closure is notified of the first change after its read, as always with
///   Observation. It then finds the new value or a later one.
/// - **Where.** The thread that sets the value calls `onChange`. If the event is idle, that happens
///   after the inline handlers. If the event is busy, it may happen before the handlers.
/// - **Races.** If another thread sets the value while the tracked closure is still running, a task
///   notifies the closure after it has returned. A closure that keeps running for more than 8 s
///   after the change isn't notified. A closure that sets the value it has read is notified of the
///   next change. If a thread sets the value just as Observation registers the closure, `onChange`
///   may be called several times.
/// - **Cost.** Until the first tracked read in the process, no value has an `ObservationRegistrar`.
///   From then on, each value that is read has one. The first set after a tracked read takes longer
///   than other sets.
extension Observed: Observable {}

extension Observed: CustomStringConvertible {
  public var description: String { "observed \(value)" }
}

// Sources of failures, and of changes that reached no handler.

extension Observed {
  /// A source of the errors that handlers of changes throw: see ``Event/failures``.
  public var failures: some EventSource<HandlerFailure> { storage.event.failures }

  /// A source of the changes that a handler could not handle, even at its last attempt, as the
  /// handler received them: see ``Event/deadLetters``. Handlers of the value or of ``newValues``
  /// receive only the new value.
  public var deadLetters: some EventSource<DeadLetter<ValueChange<Value>>> { storage.event.deadLetters }

  /// A source of the changes that reached no handler: see ``Event/unhandled``. It doesn't include
  /// announcements (``Observed/changes(initial:prior:)``).
  public var unhandled: some EventSource<EventOccurrence<ValueChange<Value>>> {
    storage.event.unhandled.filter { !$0.payload.isPrior }
  }
}
