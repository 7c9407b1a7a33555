#if NATS
  import Eventing
  import EventingNATS
  import EventingTransport
  import Foundation

  /// The work of the processes that a run starts: publishers, and members of groups.
  enum Roles {
    static let groups = ["billing", "audit"]

    /// The number of brokers. The processes of a run inherit the variable of their environment.
    static var nodes: Int {
      get { ProcessInfo.processInfo.environment["REMOTE_STRESS_NODES"].flatMap { Int($0) } ?? 1 }
      set { unsafe setenv("REMOTE_STRESS_NODES", "\(newValue)", 1) }
    }

    /// Connects to a broker and opens the stream. Tries again until both succeed.
    ///
    /// - Parameter addresses: Joined by commas.
    static func connect(_ addresses: String) async -> (nats: NATS, stream: NATSTransport) {
      while true {
        if let nats = try? await NATS.connect(
          addresses.split(separator: ",").map(String.init), publishTimeout: .seconds(10))
        {
          if let stream = try? await nats.stream("STRESS", subjects: ["work.>"], replicas: nodes) {
            return (nats, stream)
          }
          await nats.close(within: .zero)
        }
        try? await Task.sleep(for: .milliseconds(50))
      }
    }

    /// Makes the stream for dead letters. It stores only small ones, so that large ones are cut.
    static func makeLetterStream(_ nats: NATS) async {
      let config =
        #"{"name":"DEAD","subjects":["dead.>"],"storage":"file","num_replicas":\#(nodes),"max_msg_size":3000}"#
      let message = RemoteMessage(body: Array(config.utf8))
      while true {
        let answer = try? await nats.plain.request(message, to: "$JS.API.STREAM.CREATE.DEAD", within: .seconds(5))
        if let answer, String(decoding: answer.body, as: UTF8.self).contains("\"created\":") { return }
        try? await Task.sleep(for: .milliseconds(50))
      }
    }

    /// Returns the id in the body of a message or of its letter, which may lack its end.
    static func id(_ body: [UInt8]) -> Substring {
      Substring(String(decoding: body, as: UTF8.self)).prefix { $0 != " " }
    }

    static func event(_ subject: String, _ stream: NATSTransport) -> RemoteEvent<[UInt8]> {
      RemoteEvent(subject, over: stream, codec: .bytes)
    }

    /// Ends this process when the process that started it has ended.
    static func endWithParent() {
      let parent = getppid()
      Foundation.Thread.detachNewThread {
        while getppid() == parent { Foundation.Thread.sleep(forTimeInterval: 0.5) }
        exit(0)
      }
    }

    /// Publishes numbered messages for ever. Logs each message, with its position, when the stream
    /// has stored it.
    ///
    /// On one broker, some messages have no id, as those of other programs, and are published only
    /// once. In a cluster all have one: a replica of nats-server 2.9 that is killed and started again
    /// may store a message without an id twice, and then its positions are not those of the receipts
    /// (see https://github.com/nats-io/nats-server/issues/4174). Some are poison: no handler handles
    /// them, they are larger than their letters may be, and they have a header that the broker obeys.
    /// Others have a header with which no handler handles them before it is mended.
    static func publish(_ name: String, _ address: String, _ file: String, rate: Double) async throws {
      let (nats, stream) = await connect(address)
      let log = try LineLog(file)
      var number = 0
      while true {
        number += 1
        let id = "\(name).\(number)"
        if number % 10 == 3, nodes == 1 {
          let message = RemoteMessage(body: Array(id.utf8))
          let answer = try? await nats.plain.request(message, to: "work.item", within: .seconds(10))
          if let answer, String(decoding: answer.body, as: UTF8.self).contains("\"seq\":") { log.write(id) }
          continue
        }
        var message = RemoteMessage(id: id, body: Array(id.utf8))
        if number % 50 == 25 { message.headers = [unmended: "1"] }
        if number % 50 == 0 {
          message.headers = ["Nats-Expected-Stream": "STRESS", "Trace": id]
          message.body += Array(" poison \(String(repeating: "x", count: 5_000))".utf8)
        }
        var receipt: Receipt?
        while receipt == nil {
          receipt = try? await stream.publish(message, to: "work.item")
          // Publishes the message again, with its id.
          if receipt == nil { try await Task.sleep(for: .milliseconds(20)) }
        }
        log.write("\(id) \(receipt?.position ?? 0)")
        try await Task.sleep(for: .seconds(1 / rate))
      }
    }

    private static let unmended = "Unmended"

    /// Returns whether a group can handle all messages but those that are too large.
    ///
    /// - Parameter file: The log of the group.
    private static func isMended(_ file: String) -> Bool { FileManager.default.fileExists(atPath: file + ".mended") }
    static func mend(_ file: String) { _ = FileManager.default.createFile(atPath: file + ".mended", contents: nil) }

    /// Handles messages as a member of a group, and logs each one. At a SIGTERM, the member
    /// finishes what it has begun, and ends.
    static func handle(_ group: String, _ address: String, _ file: String) async throws {
      let mustEnd = Terminations()
      let (nats, stream) = await connect(address)
      let event = event("work.item", stream)
      let log = try LineLog(file)
      struct Bad: Error {}
      event.remoteOccurrences.addHandler(.named("work")) { occurrence in
        if occurrence.headers[unmended] != nil, !isMended(file) { throw Bad() }
        if occurrence.payload.count > 1_000 || Int.random(in: 0..<100) == 0 { throw Bad() }
        if Int.random(in: 0..<50) == 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 1...100))) }
        log.write("\(id(occurrence.payload))")
      }
      var listening: Listening?
      while listening == nil {
        do {
          listening = try await event.listen(
            as: group, startingAt: .first, inFlight: 64,
            retry: .exponential(from: .milliseconds(20), to: .seconds(1), attempts: 8), deadLetter: "dead.\(group)",
            deduplicating: .last(100_000))
        } catch { try await Task.sleep(for: .milliseconds(50)) }
      }
      await mustEnd.first()
      await listening?.drain(within: .seconds(5))
      await nats.close(within: .seconds(1))
      exit(0)
    }
  }

  /// The SIGTERM signals of this process.
  struct Terminations {
    private let stream: AsyncStream<Void>
    private let source: any DispatchSourceSignal

    init() {
      signal(SIGTERM, SIG_IGN)
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
      source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
      source.setEventHandler { continuation.yield() }
      source.resume()
      self.stream = stream
    }

    /// Waits for a signal.
    func first() async { for await _ in stream { return } }
  }

  /// A file of lines. One system call writes a whole line, so a kill leaves no part of a line.
  final class LineLog: Sendable {
    private let descriptor: Int32

    init(_ file: String) throws {
      descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_APPEND, 0o600)
      if descriptor < 0 { throw Refusal("expected to write to \(file); the error is \(errno)") }
    }

    func write(_ line: String) {
      let bytes = Array((line + "\n").utf8)
      let count = unsafe bytes.withUnsafeBytes { unsafe Foundation.write(descriptor, $0.baseAddress, $0.count) }
      precondition(count == bytes.count, "expected to write a line")
    }

    /// Returns the first word of each line.
    static func ids(_ file: String) -> [Substring] {
      lines(file).map { line in line.prefix { $0 != " " } }
    }

    /// Returns the lines of a file, except an unfinished last line.
    static func lines(_ file: String) -> [Substring] {
      guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
      return text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n")
    }
  }
#endif
