import Eventing
import Synchronization

enum PayloadDescribers {
  private static let isOn = Atomic<Bool>(false)
  private static let all = Guarded<[ObjectIdentifier: @Sendable (TracedPayload) -> String?]>([:])

  static func add<Payload: Sendable>(_ type: Payload.Type, _ text: @escaping @Sendable (Payload) -> String) {
    let describer: @Sendable (TracedPayload) -> String? = { payload in payload.copy(as: Payload.self).map(text) }
    // `replaced` is released after the unlock: the closure is the user's.
    let replaced = all.withLock { $0.updateValue(describer, forKey: ObjectIdentifier(type)) }
    withExtendedLifetime(replaced) {}
    _ = isOn.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Cut to 256 bytes, the longest text in the protocol; `nil` without a describer. Runs the user's
  /// closure, without a mutex.
  static func text(of payload: TracedPayload) -> String? {
    guard isOn.load(ordering: .acquiring) else { return nil }
    guard let describer = all.withLock({ $0[ObjectIdentifier(payload.type)] }) else { return nil }
    return describer(payload).map { JSONWriter.cut($0) }
  }
}

extension Inspection {
  /// Sets the closure that describes the payloads of a type in traces. A trace shows the text that
  /// the closure makes, cut to 256 bytes.
  ///
  /// Without such a closure, a trace shows nothing of a payload. A second closure for a type
  /// replaces the first. Callable from any thread.
  ///
  /// - Parameters:
  ///   - type: The type of the payloads. A keyed event's payloads are not described.
  ///   - text: A closure that makes the text of a payload. It runs on the thread that delivers.
  public static func describe<Payload: Sendable>(
    _ type: Payload.Type, as text: @escaping @Sendable (Payload) -> String
  ) {
    PayloadDescribers.add(type, text)
  }
}
