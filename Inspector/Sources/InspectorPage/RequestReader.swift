import Foundation

/// Reads requests of HTTP/1.1 from a socket, with limits for their sizes and times.
///
/// The reader writes each request anew, as it understood the request. The ``Gate`` passes only
/// these new requests on to FlyingFox, the web server behind it. So FlyingFox cannot understand a
/// request differently from the reader: it gets no chunked bodies, at most one length, no folded
/// lines, and in lines no control characters but tabs.
struct RequestReader {
  /// The largest numbers of bytes: of the first line, of a header, of all lines, of the body.
  static let limits = (first: 2_048, line: 4_096, head: 16_384, body: 65_536)
  /// The seconds that a request may take from its first byte on, and the seconds that a connection
  /// may stay open without a request.
  static let seconds = (request: 5, idle: 120)

  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var deadline: ContinuousClock.Instant?

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// The reason for which a request is refused.
  enum Fault: Error {
    case tooLong, tooLarge, tooSlow, malformed

    /// The HTTP response that tells the client of the fault.
    var response: [UInt8] {
      let status =
        switch self {
        case .tooLong: "431 Request Header Fields Too Large"
        case .tooLarge: "413 Content Too Large"
        case .tooSlow: "408 Request Timeout"
        case .malformed: "400 Bad Request"
        }
      return Array("HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".utf8)
    }
  }

  /// Reads the next request; returns `nil` at the end of the connection.
  mutating func next() throws(Fault) -> [UInt8]? {
    deadline = nil
    guard var first = try line(atMost: Self.limits.first, isFirst: true) else { return nil }
    if first.isEmpty {
      // An empty line before a request is allowed, once.
      guard let second = try line(atMost: Self.limits.first, isFirst: true) else { return nil }
      first = second
    }
    let words = first.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3, words[1].hasPrefix("/"), words[2] == "HTTP/1.1" else { throw .malformed }
    var (head, length, names) = (first + "\r\n", 0, Set<String>())
    var total = first.utf8.count
    while let header = try line(atMost: Self.limits.line, isFirst: false), !header.isEmpty {
      total += header.utf8.count + 2
      guard total <= Self.limits.head else { throw .tooLong }
      guard let colon = header.firstIndex(of: ":"), colon > header.startIndex else { throw .malformed }
      let name = header[..<colon].lowercased()
      guard name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }) else {
        throw .malformed
      }
      let value = header[header.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      if ["host", "content-length", "origin", "authorization"].contains(name), !names.insert(name).inserted {
        throw .malformed
      }
      if name == "transfer-encoding" || name == "upgrade" { throw .malformed }
      if name == "content-length" {
        guard !value.isEmpty, value.allSatisfy({ $0.isASCII && $0.isNumber }) else { throw .malformed }
        guard let number = Int(value), number <= Self.limits.body else { throw .tooLarge }
        length = number
      }
      head += "\(name): \(value)\r\n"
    }
    var request = Array((head + "\r\n").utf8)
    while buffer.count < length { try fill() }
    request += buffer[..<length]
    buffer.removeFirst(length)
    return request
  }

  /// Reads a line without its end; returns `nil` if the connection ended before its first byte.
  private mutating func line(atMost most: Int, isFirst: Bool) throws(Fault) -> String? {
    var searched = 0
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        guard end <= most else { throw .tooLong }
        var line = buffer[..<end]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 9 }) else { throw .malformed }
        let text = String(decoding: line, as: UTF8.self)
        buffer.removeFirst(end + 1)
        return text
      }
      guard buffer.count <= most else { throw .tooLong }
      searched = buffer.count
      if isFirst, buffer.isEmpty {
        guard try fill(mayEnd: true) else { return nil }
      } else {
        try fill()
      }
    }
  }

  /// Reads further bytes into the buffer; returns `false` at the end of the connection.
  @discardableResult
  private mutating func fill(mayEnd: Bool = false) throws(Fault) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4_096)
    if deadline == nil, !buffer.isEmpty { deadline = .now + .seconds(Self.seconds.request) }
    while true {
      if let deadline, .now >= deadline { throw .tooSlow }
      Descriptor.limit(descriptor, SO_RCVTIMEO, seconds: deadline == nil ? Self.seconds.idle : 1)
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR || (errno == EAGAIN && deadline != nil) { continue }
      guard count > 0 else {
        if mayEnd { return false }
        throw .malformed
      }
      if deadline == nil { deadline = .now + .seconds(Self.seconds.request) }
      buffer += chunk[..<count]
      return true
    }
  }
}
