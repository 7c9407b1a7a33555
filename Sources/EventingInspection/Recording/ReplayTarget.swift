public import Eventing
import Foundation

extension EventPlayback {
  /// The place where a replay sends the occurrences that were recorded under a name.
  public struct Target: Sendable {
    /// If `isAwaited` is true, returns when the handlers have finished.
    typealias Delivery = @Sendable (_ sender: ReplayedSender?, _ isAwaited: Bool) async -> Void

    let decode: (@Sendable (Data) throws -> Delivery)?
    let quiesce: @Sendable () async -> Void

    /// Returns a target that sends to an event.
    ///
    /// - Parameter event: The event. Payloads are decoded as its payload type. The name of the type
    ///   in the file serves error messages only.
    public static func event<Payload: Codable & Sendable>(_ event: Event<Payload>) -> Target {
      Target.event(event) { (payload: Payload) in payload }
    }

    /// Returns a target that sends payloads to an event. A closure makes each payload of a value
    /// that the recording stored.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - decoding: A closure that makes a payload of a stored value. If the closure throws, the
    ///     line of the recording counts as damaged.
    public static func event<Payload: Sendable, Stored: Decodable & SendableMetatype>(
      _ event: Event<Payload>, decoding: @escaping @Sendable (Stored) throws -> Payload
    ) -> Target {
      Target(event) { line in try decoding(JSONDecoder().decode(StoredPayload<Stored>.self, from: line).payload) }
    }

    /// Returns a target that sends to a signal.
    ///
    /// - Parameter signal: The signal.
    public static func event(_ signal: Event<Void>) -> Target { Target(signal) { _ in () } }

    /// Returns a target that sends to a signal.
    public static func signal(_ signal: Event<Void>) -> Target { .event(signal) }

    /// Returns a target that sends to a keyed event. Each occurrence is sent to the key that was
    /// recorded with it; one that was recorded without a key is sent to no key.
    ///
    /// - Parameter event: The keyed event.
    public static func event<Key: Codable, Payload: Codable & Sendable>(_ event: KeyedEvent<Key, Payload>) -> Target {
      Target(
        decode: { line in
          let stored = try JSONDecoder().decode(StoredKeyedPayload<Key, Payload>.self, from: line)
          return { sender, isAwaited in
            switch (stored.key, isAwaited) {
            case (let key?, true): await event.send(stored.payload, to: key, from: sender)
            case (let key?, false): event.post(stored.payload, to: key, from: sender)
            case (nil, true): await event.untargeted.send(stored.payload, from: sender)
            case (nil, false): event.untargeted.post(stored.payload, from: sender)
            }
          }
        },
        quiesce: { await event.quiesce() })
    }

    /// A target that takes nothing: the occurrences of its name are left out.
    public static var nothing: Target { Target(decode: nil, quiesce: {}) }

    private init(decode: (@Sendable (Data) throws -> Delivery)?, quiesce: @escaping @Sendable () async -> Void) {
      self.decode = decode
      self.quiesce = quiesce
    }

    private init<Payload: Sendable>(_ event: Event<Payload>, _ payload: @escaping @Sendable (Data) throws -> Payload) {
      decode = { line in
        let payload = try payload(line)
        return { sender, isAwaited in
          if isAwaited { await event.send(payload, from: sender) } else { event.post(payload, from: sender) }
        }
      }
      quiesce = { await event.quiesce() }
    }
  }
}

/// Stands for a recorded sender.
final class ReplayedSender: Sendable {}

private struct StoredPayload<Payload: Decodable>: Decodable {
  let payload: Payload
}

private struct StoredKeyedPayload<Key: Decodable & Sendable, Payload: Decodable & Sendable>: Decodable, Sendable {
  let key: Key?
  let payload: Payload
}
