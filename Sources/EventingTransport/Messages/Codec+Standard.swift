public import Foundation

extension Codec where Payload: Codable {
  /// A codec for JSON without a type name in the headers.
  public static var json: Codec { json(type: nil) }

  /// Returns a codec for JSON with a version. Bodies of older versions are decoded like those of
  /// this one.
  ///
  /// If a payload type has only gained optional properties, it needs no new version.
  ///
  /// - Parameters:
  ///   - type: The name of the payload's type for other programs; `nil` for none. Do not use a name
  ///     with a Swift module in it: modules are renamed.
  ///   - version: The version that this program writes. A message of a newer version is rejected.
  public static func json(type: String? = nil, version: Int = 1) -> Codec {
    json(type: type, version: version) { old, _ in try old.decode() }
  }

  /// Returns a codec for JSON that also reads older versions.
  ///
  /// - Parameters:
  ///   - type: The name of the payload's type for other programs; `nil` for none.
  ///   - version: The version that this program writes.
  ///   - upgrade: A closure that makes a payload from a body of an older version.
  public static func json(
    type: String? = nil, version: Int,
    _ upgrade: @escaping @Sendable (_ old: EncodedPayload, _ version: Int) throws -> Payload
  ) -> Codec {
    Codec(contentType: "application/json", type: type, version: version) {
      [UInt8](try JSONEncoder.deterministic.encode($0))
    } decode: { bytes, found in
      let payload = EncodedPayload(bytes: bytes)
      return found < version ? try upgrade(payload, found) : try payload.decode()
    }
  }

  /// Returns a codec that writes and reads CloudEvents 1.0 in binary mode: JSON in the body, and
  /// the attributes in headers that begin with `ce-`.
  ///
  /// The identity of a CloudEvent is its source together with its id. If two sources use one id, a
  /// stream stores both messages, and a listening handles both.
  ///
  /// - Parameters:
  ///   - type: The attribute `type`. A message of another type is rejected.
  ///   - source: The attribute `source`, for messages that this program writes.
  public static func cloudEvent(type: String, source: String) -> Codec {
    Codec { payload, message in
      message.body = [UInt8](try JSONEncoder.deterministic.encode(payload))
      message.headers["ce-specversion"] = "1.0"
      message.headers["ce-type"] = type
      message.headers["ce-source"] = source
      message.headers["ce-id"] = message.id
      message.id = message.boundedIdentity
      message.headers["ce-time"] = message.publishedAt.formatted(.iso8601)
      message.headers[HeaderName.contentType] = "application/json"
    } _: { message in
      let version = message.headers["ce-specversion"]
      guard version?.hasPrefix("1.") == true else {
        throw DecodingFailure("expected a CloudEvent 1.x, got the ce-specversion \(shown(version ?? ""))")
      }
      guard message.headers["ce-type"] == type else {
        throw DecodingFailure("expected the ce-type \(type), got \(shown(message.headers["ce-type"] ?? ""))")
      }
      return try EncodedPayload(bytes: message.body).decode()
    }
  }
}

extension Codec {
  @available(*, unavailable, message: "JSON needs a Codable payload; give a codec of your own: Codec(encode:decode:)")
  @_disfavoredOverload public static var json: Codec { fatalError("unavailable") }
}

extension Codec where Payload == [UInt8] {
  /// A codec for bytes, which are the body unchanged.
  public static var bytes: Codec {
    Codec {
      $1.body = $0
    } _: {
      $0.body
    }
  }
}

extension Codec where Payload == Data {
  /// A codec for bytes, which are the body unchanged.
  public static var bytes: Codec {
    Codec {
      $1.body = [UInt8]($0)
    } _: {
      Data($0.body)
    }
  }
}

extension Codec where Payload == Void {
  /// A codec for an empty body. It ignores the bodies of received messages.
  public static var nothing: Codec {
    Codec { _, _ in
    } _: { _ in
      ()
    }
  }
}

extension JSONEncoder {
  /// Writes equal bytes for equal payloads in all processes, unless they have sets, so that a
  /// message that is published again is not taken for another one with its id.
  fileprivate static let deterministic = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return encoder
  }()
}
