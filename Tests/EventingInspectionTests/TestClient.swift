import Foundation
import Testing

@testable import EventingInspection

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A client over the socket. It never blocks a thread.
final class TestClient {
  private let descriptor: Int32
  private var input: [UInt8] = []
  /// All bytes that the server has sent.
  private(set) var received: [UInt8] = []
  private(set) var isClosed = false
  private var lastID = 0

  struct NoLine: Error {}

  init(_ path: String) throws {
    descriptor = try #require(TestClient.connect(path))
    Descriptors.prepare(descriptor)
  }

  deinit { close(descriptor) }

  private static func connect(_ path: String) -> Int32? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
      for (index, byte) in path.utf8.enumerated() { unsafe bytes[index] = byte }
    }
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    let result = unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe systemConnect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// Says hello, and returns the server's first line.
  @discardableResult func sayHello(control: Bool = false) async throws -> [String: Any] {
    let hello = try await line()
    let answer = try await request(["do": "hello", "protocol": 1, "client": "test", "control": control])
    #expect(answer["ok"] as? Bool == true)
    return hello
  }

  /// Sends a request, and returns its answer. Calls `before` with each line that arrives before the
  /// answer.
  func request(_ request: [String: Any], _ before: ([String: Any]) -> Void = { _ in }) async throws -> [String: Any] {
    lastID += 1
    var request = request
    request["id"] = lastID
    try await send(JSONSerialization.data(withJSONObject: request) + Data("\n".utf8))
    while true {
      let line = try await line()
      if line["id"] as? Int == lastID { return line }
      before(line)
    }
  }

  /// Returns the rows of a part of a snapshot, over all lines of the answer.
  func rows(_ part: String, events: [UInt64]? = nil) async throws -> [[String: Any]] {
    var request: [String: Any] = ["do": "snapshot", "parts": [part]]
    if let events { request["events"] = events }
    var answer = try await self.request(request)
    var rows: [[String: Any]] = []
    while true {
      #expect(answer["ok"] as? Bool == true)
      rows += (answer["parts"] as? [String: Any])?[part] as? [[String: Any]] ?? []
      guard answer["more"] as? Bool == true else { return rows }
      answer = try await line()
    }
  }

  /// Sends bytes as fast as the socket takes them. Stops if the server closes the connection.
  func send(_ bytes: some Collection<UInt8>) async throws {
    var rest = Array(bytes)[...]
    var patience = Patience()
    while !rest.isEmpty, !isClosed {
      switch Descriptors.write(descriptor, rest) {
      case .bytes(let count): rest = rest.dropFirst(count)
      case .closed: isClosed = true
      case .wouldBlock:
        guard patience.isLeft() else { throw NoLine() }
        try await Task.sleep(for: .milliseconds(1))
      }
    }
  }

  func send(_ text: String) async throws { try await send(Array(text.utf8)) }

  /// Waits for the next line of the server, and returns it.
  func line() async throws -> [String: Any] {
    var patience = Patience()
    while true {
      if let end = input.firstIndex(of: 10) {
        let line = Array(input[..<end])
        input.removeSubrange(...end)
        #expect(line.allSatisfy { $0 >= 0x20 }, "a line holds no raw control character")
        return try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
      }
      guard !isClosed, patience.isLeft() else { throw NoLine() }
      if !receive() { try await Task.sleep(for: .milliseconds(1)) }
    }
  }

  /// Waits until the server closes the connection, and returns whether it did. The lines that the
  /// server sent before can still be read.
  func closing() async -> Bool {
    await eventually {
      while receive() {}
      return isClosed
    }
  }

  /// Reads bytes that have arrived. Returns whether there were any.
  private func receive() -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { buffer in
      switch unsafe Descriptors.read(descriptor, into: buffer) {
      case .bytes(let count):
        unsafe input.append(contentsOf: buffer[..<count])
        unsafe received.append(contentsOf: buffer[..<count])
        return true
      case .wouldBlock: return false
      case .closed:
        isClosed = true
        return false
      }
    }
  }
}

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
  unsafe connect(descriptor, address, length)
}

/// Begins the inspections of tests, each at a path of its own.
enum Serving {
  private static let lock = NSLock()
  nonisolated(unsafe) private static var last = 0

  static func path() -> String {
    lock.lock()
    defer { lock.unlock() }
    unsafe last += 1
    return unsafe "/tmp/eventing-\(getpid())-\(last).sock"
  }

  /// The limits of clients, with ten minutes for `helloTime` and `idleTime`. While all tests run,
  /// the client of one test may get no processor for minutes.
  static var limits: ClientLimits {
    var limits = ClientLimits()
    limits.helloTime = 600 * ClientLimits.second
    limits.idleTime = 600 * ClientLimits.second
    return limits
  }

  static func start(at path: String = path()) throws -> Inspection {
    try Inspection.serve(at: path, control: false, limits)
  }

  /// Runs a closure with an inspection, and then ends the inspection.
  static func with(
    control: Bool = false, limits: ClientLimits = limits, _ body: (Inspection) async throws -> Void
  ) async throws {
    let inspection = try Inspection.serve(at: path(), control: control, limits)
    defer { inspection.end() }
    try await body(inspection)
  }
}
