public import Foundation

/// Encodes payloads as bytes, and decodes them.
///
///     RemoteEvent<OrderPlaced>("orders.placed", over: orders)               // JSON by itself
///     RemoteEvent<OrderPlaced>("orders.placed", over: orders, codec: .json(type: "shop.placed"))
///     RemoteEvent<[UInt8]>("frames", over: ticks, codec: .bytes)
///
/// The encoding closure runs in the task that sends a message, the decoding closure on the thread
/// that receives the message. Neither runs under a mutex.
public struct Codec<Payload: Sendable>: Sendable {
  let encode: @Sendable (Payload, inout RemoteMessage) throws -> Void
  let decode: @Sendable (RemoteMessage) throws -> Payload

  /// Creates a codec with access to the whole message.
  ///
  /// - Parameters:
  ///   - encode: A closure that writes the body and the headers of a message.
  ///   - decode: A closure that makes the payload of a message. If it throws, the message goes to
  ///     the dead-letter subject without another attempt.
  public init(
    message encode: @escaping @Sendable (Payload, inout RemoteMessage) throws -> Void,
    _ decode: @escaping @Sendable (RemoteMessage) throws -> Payload
  ) {
    self.encode = encode
    self.decode = decode
  }

  /// Creates a codec for the body. The codec writes the type and the version into headers.
  ///
  /// - Parameters:
  ///   - contentType: The media type of the body.
  ///   - type: The name of the payload's type for other programs; `nil` for none. A message that
  ///     names another type is rejected.
  ///   - version: The version that this program writes. A message of a newer version is rejected.
  ///   - encode: A closure that makes the body.
  ///   - decode: A closure that makes a payload from a body of the given version, which may be an
  ///     older one.
  public init(
    contentType: String = "application/octet-stream", type: String? = nil, version: Int = 1,
    encode: @escaping @Sendable (Payload) throws -> [UInt8],
    decode: @escaping @Sendable (_ bytes: [UInt8], _ version: Int) throws -> Payload
  ) {
    var own = [HeaderName.contentType: contentType]
    own[HeaderName.type] = type
    if version != 1 { own[HeaderName.version] = "\(version)" }
    self.encode = { [own] payload, message in
      message.body = try encode(payload)
      // Most messages have no other headers, and share this dictionary.
      if message.headers.isEmpty { message.headers = own } else { message.headers.merge(own) { $1 } }
    }
    self.decode = { message in
      if let type, let found = message.headers[HeaderName.type], found != type {
        throw DecodingFailure("expected a message of the type \(type), got \(shown(found))")
      }
      let found = message.headers[HeaderName.version]
      guard let number = found.map({ Int($0) }) ?? 1, number > 0 else {
        throw DecodingFailure("expected a version as a number, got \(shown(found ?? ""))")
      }
      guard number <= version else {
        throw DecodingFailure("expected version \(version) or an older one, got version \(number)")
      }
      return try decode(message.body, number)
    }
  }
}

/// The reason why a message cannot be decoded.
public struct DecodingFailure: Error, Sendable, CustomStringConvertible {
  /// A sentence that names what was expected and what was found.
  public let description: String

  /// Creates a failure.
  public init(_ description: String) { self.description = description }
}

extension DecodingFailure: LocalizedError {
  /// The ``description``, which Foundation returns as the `localizedDescription` of the error.
  public var errorDescription: String? { description }
}

/// The body of a message that an older version of a program wrote.
public struct EncodedPayload: Sendable {
  /// The bytes of the body.
  public let bytes: [UInt8]

  /// Decodes the body as JSON of a type.
  ///
  /// - Throws: The error of the decoder.
  public func decode<Old: Decodable>(_ type: Old.Type = Old.self) throws -> Old {
    try EncodedPayload.decoder.decode(type, from: Data(bytes))
  }

  private static let decoder = JSONDecoder()
}
