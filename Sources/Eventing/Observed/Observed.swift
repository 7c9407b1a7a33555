/// A value whose changes are an event.
///
///     final class Player { @Observed var volume = 0.5 }             // also in an actor, and in a @MainActor class
///     final class Mixer: Sendable { let gain = Observed(0.5) }      // where no wrapper can be
///
///     player.$volume.addHandler(options: [.initial, .old, .new]) { change in print(change) }
///     mixer.gain.value = 0.7
///
/// Reading and setting are safe from any thread; reading after setting gives what was set, or something later. The changes arrive in the order in which the value
/// took them, each with what was there before it. Setting an equal value is a change, too. Of two threads that read, compute and set, one may be lost: use
/// ``update(_:)``.
///
/// A copy is the same value: it is a reference.
@propertyWrapper
public struct Observed<Value: Sendable>: Sendable {
  @usableFromInline let storage: Storage

  /// A value, as it is to begin with.
  public init(_ value: Value) { storage = Storage(value) }
  /// The same, for the property wrapper.
  public init(wrappedValue: Value) { self.init(wrappedValue) }

  /// The value as it is. Setting it tells the handlers, as ``Event/post(_:from:)`` does.
  @inlinable public var value: Value {
    get { storage.value }
    nonmutating set { storage.set(newValue) }
  }

  /// The value as it is.
  @inlinable public var wrappedValue: Value {
    get { value }
    nonmutating set { value = newValue }
  }

  /// The whole, to listen to its changes.
  @inlinable public var projectedValue: Observed { self }

  /// Changes the value in one step: no other change comes in between.
  ///
  /// - Parameter change: is called again if another thread was faster (and so are the handlers that are told before a change). It changes what it is given, not this
  ///   value: a change that it makes to that itself is overwritten, and stops a debug build.
  public func update(_ change: (inout Value) -> Void) {
    storage.update { old in
      var value = old
      change(&value)
      return value
    }
  }
}

extension Observed: CustomStringConvertible {
  /// The value, in one line.
  public var description: String { "observed \(value)" }
}
