#if NATS
  import EventingTransport
  import Foundation

  /// A server's first line names its version, which libnats 3.4.1 does not pass on.
  enum ServerGreeting {
    private struct Info: Decodable { var version: String? }

    /// Blocks while it asks the server for its version.
    ///
    /// - Parameter wait: The longest wait for each call on the socket, at most 2 s.
    static func lacksHeaders(_ address: String, within wait: Duration) -> TransportError {
      let parts = URLComponents(string: address)
      let host = parts?.host?.trimmingCharacters(in: ["[", "]"]) ?? ""
      let version = line(host, parts?.port ?? 4_222, min(wait, .seconds(2))).flatMap(version)
      let found = version.map { "nats-server \(quoted($0))" } ?? "a server that tells no version"
      return TransportError(
        .refused,
        "expected a server with headers: nats-server 2.2 or later, without no_header_support; got \(found) at \(shownAddress(address))"
      )
    }

    private static func version(_ line: String) -> String? {
      guard line.hasPrefix("INFO ") else { return nil }
      return (try? JSONDecoder().decode(Info.self, from: Data(line.dropFirst(5).utf8)))?.version
    }

    /// `nil` if the server cannot be reached. If only a part of the line came, returns that part.
    private static func line(_ host: String, _ port: Int, _ wait: Duration) -> String? {
      var hints = unsafe addrinfo()
      unsafe hints.ai_socktype = streamKind
      var found: UnsafeMutablePointer<addrinfo>?
      guard unsafe getaddrinfo(host, "\(port)", &hints, &found) == 0, let found = unsafe found else { return nil }
      defer { unsafe freeaddrinfo(found) }
      let (family, address, size) = unsafe (found.pointee.ai_family, found.pointee.ai_addr, found.pointee.ai_addrlen)
      let descriptor = socket(family, streamKind, 0)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      let parts = max(wait, .milliseconds(1)).components
      var limit = timeval(
        tv_sec: Int(parts.seconds), tv_usec: .init(truncatingIfNeeded: parts.attoseconds / 1_000_000_000_000))
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
      }
      guard unsafe connect(descriptor, address, size) == 0 else { return nil }
      var line: [UInt8] = []
      while line.count < 65_536, !line.contains(10) {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { break }
        line += bytes[..<count]
      }
      return String(decoding: line.prefix { $0 != 10 }, as: UTF8.self)
    }

    #if canImport(Darwin)
      private static let streamKind = SOCK_STREAM
    #else
      private static let streamKind = Int32(SOCK_STREAM.rawValue)
    #endif
  }
#endif
