public import Observation

/// A value whose changes are an event.
///
///     final class Player { @Observed var volume = 0.5 }         // or an actor or @MainActor class
///     final class Mixer: Sendable { let gain = Observed(0.5) }  // where no wrapper can be
///
///     player.$volume.changes(initial: true).addHandler { change in print(change) }
///     mixer.gain.value = 0.7
///
/// The value can be read and set from any thread. A read after a set returns the value that was
/// set, or a later one. Handlers receive the changes in the order in which the value took them,
/// each with the value before it. Setting an equal value is a change, too.
///
/// Reading, computing and setting are three steps, so one of two racing threads may overwrite the
/// other's result. Use ``update(_:)`` to compute a value from the old one.
///
/// ``combineLatest(_:)`` is a view of two values together. An `Observed` takes part in Swift's
/// Observation: a SwiftUI view that reads ``value`` follows it.
///
/// An `Observed` is a reference: its copies share one value and one event.
@propertyWrapper
public struct Observed<Value: Sendable>: Sendable {
  @usableFromInline let storage: Storage

  /// Creates a value without handlers.
  ///
  /// - Parameters:
  ///   - value: The value to begin with.
  ///   - name: A name for logs, occurrences and snapshots.
  ///   - policy: The treatment of handlers that throw. By default their errors are only collected.
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
  /// A read holds a mutex for a few instructions, and Observation may track it. On x86-64 Linux, it
  /// takes about 120 instructions until some thread of the process reads an `Observed` under
  /// tracking. From then on, each read asks Observation and takes about 1,000.
  ///
  /// Setting the value delivers the change as ``Event/post(_:from:)`` delivers a payload, without
  /// waiting. If the event is idle, inline handlers have returned by the time the setter does.
  ///
  /// Inside a handler of changes, setting takes effect at once, and the new change is delivered
  /// after the current one has reached every handler.
  ///
  /// - Complexity: O(1) to read; O(*n*) for *n* handlers to set.
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
  @inlinable public var projectedValue: Observed { self }

  /// Changes the value in one step: no other change comes between reading and setting.
  ///
  /// If another thread changes the value meanwhile, `change` is called again with the newer value.
  /// Handlers with ``Observed/changes(initial:prior:)`` may then be called again, too. Handlers are
  /// called as they are when ``value`` is set.
  ///
  ///     let isTaken = stock.update { count in
  ///       guard count > 0 else { return false }
  ///       count -= 1
  ///       return true
  ///     }
  ///
  /// - Parameter change: A closure that changes the value it is given. It runs on the calling
  ///   thread with no mutex held. It must leave this `Observed` alone: a debug build stops if
  ///   `change` sets or updates it. In a release build, the result of `change` overwrites what it
  ///   has set.
  /// - Returns: The result of the last call of `change`.
  /// - Throws: The error that `change` throws. The value stays as it is then.
  /// - Complexity: That of setting ``value``, and a call of `change` for each attempt.
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

/// Views, `withObservationTracking` and `Observations` that read ``Observed/value`` are told of its
/// next change.
///
///     struct VolumeView: View {
///       let player: Player
///       var body: some View { Text("Volume \(player.volume)") }  // follows the volume
///     }
///
/// - **Once.** Each tracked closure is told of the first change after its read, as Observation
///   always does. The closure that is told finds the new value, or a later one.
/// - **Where.** The thread that sets the value calls `onChange`: if the event is idle, after the
///   inline handlers. If the event is busy, `onChange` may be called before the handlers.
/// - **Races.** If another thread sets the value while the tracked closure still runs, a task tells
///   the closure after the closure has returned. A closure that runs for more than 8 s after the
///   change is not told. A closure that sets the value that it has read is told of the next change.
///   If a thread sets the value just while Observation registers the closure, `onChange` may be
///   called several times.
/// - **Cost.** Until the first tracked read in the process, no value has an `ObservationRegistrar`.
///   From then on each value that is read has one. The first set after a tracked read takes longer
///   than other sets.
extension Observed: Observable {}

extension Observed: CustomStringConvertible {
  public var description: String { "observed \(value)" }
}

// Sources of failures, and of changes that reached no handler.

extension Observed {
  /// A source of the errors that handlers of changes throw: see ``Event/failures``.
  public var failures: some EventSource<HandlerFailure> { storage.event.failures }

  /// A source of the changes at which a handler failed, after its last attempt, as the handler
  /// received them: see ``Event/deadLetters``. A handler of the value, or of ``newValues``,
  /// receives the new value only.
  public var deadLetters: some EventSource<DeadLetter<ValueChange<Value>>> { storage.event.deadLetters }

  /// A source of the changes that reached no handler: see ``Event/unhandled``. Announcements
  /// (``Observed/changes(initial:prior:)``) are not among them.
  public var unhandled: some EventSource<EventOccurrence<ValueChange<Value>>> {
    storage.event.unhandled.filter { !$0.payload.isPrior }
  }
}
