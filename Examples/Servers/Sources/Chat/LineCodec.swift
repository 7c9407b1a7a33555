package import NIOCore

/// Encodes and decodes lines of text, each of which ends with a line feed.
package enum LineCodec {
  package struct LineTooLong: Error {}

  /// The largest length of a line, in bytes.
  package static let limit = 4_096

  /// Wraps a connection, so that both directions carry lines. Must be called on the connection's
  /// event loop.
  package static func install(on channel: any Channel) throws -> NIOAsyncChannel<String, String> {
    try channel.pipeline.syncOperations.addHandlers(
      ByteToMessageHandler(Decoder()), MessageToByteHandler(Encoder()))
    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
  }

  private struct Decoder: NIOSingleStepByteToMessageDecoder {
    mutating func decode(buffer: inout ByteBuffer) throws -> String? {
      guard let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else {
        if buffer.readableBytes > limit { throw LineTooLong() }
        return nil
      }
      let length = end - buffer.readerIndex
      if length > limit { throw LineTooLong() }
      let line = buffer.readString(length: length)
      buffer.moveReaderIndex(forwardBy: 1)
      // Some clients, such as telnet, end their lines with a carriage return and a line feed.
      return line.map { $0.hasSuffix("\r") ? String($0.dropLast()) : $0 }
    }

    mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> String? {
      try decode(buffer: &buffer)
    }
  }

  private struct Encoder: MessageToByteEncoder {
    func encode(data line: String, out: inout ByteBuffer) throws {
      out.writeString(line)
      out.writeInteger(UInt8(ascii: "\n"))
    }
  }
}
