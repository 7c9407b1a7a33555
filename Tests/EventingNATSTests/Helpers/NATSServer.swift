#if NATS
  import Eventing
  import EventingNATS
  import Foundation
  import Testing

  /// A nats-server of one test, on a free port of the loopback interface, with a folder of its own.
  ///
  /// The object sends signals to the process by its number, and ends it at the latest in `deinit`.
  final class NATSServer: Sendable {
    private let process = Guarded<Int32>(0)
    let port: Int
    let folder: String
    private let configuration: Guarded<String>
    private let base: String

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - configuration: Further lines of the configuration.
    ///   - hasStreams: Whether the server has streams.
    ///   - streams: Further lines of the configuration of the streams.
    init(_ configuration: String = "", hasStreams: Bool = true, streams: String = "") throws {
      folder = NSTemporaryDirectory() + "eventing-nats-\(UUID().uuidString)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      port = try NATSServer.freePort()
      let streams = hasStreams ? "jetstream { store_dir: \"\(folder)/streams\", \(streams) }" : ""
      base = "listen: \"127.0.0.1:\(port)\"\n\(streams)\nlog_file: \"\(folder)/log\"\n"
      self.configuration = Guarded(configuration)
      try start()
    }

    deinit {
      end()
      try? FileManager.default.removeItem(atPath: folder)
    }

    var address: String { "nats://127.0.0.1:\(port)" }

    /// Connects, through a proxy or without one. Tries again while the server starts.
    func connect(
      credentials: NATS.Credentials? = nil, publishTimeout: Duration = .seconds(5), through proxy: Proxy? = nil
    ) async throws -> NATS {
      let address = proxy?.address ?? address
      let end = ContinuousClock.now + .seconds(20)
      while true {
        do { return try await NATS.connect(address, credentials: credentials, publishTimeout: publishTimeout) } catch {
          // A proxy accepts a connection, and ends it if it cannot reach the server.
          let isAway = "\(error)".contains("there is none") || proxy != nil
          guard isAway, .now < end else { throw error }
          try await Task.sleep(for: .milliseconds(20))
        }
      }
    }

    // MARK: The process

    /// Lets the process read other further lines of the configuration, and waits until it has.
    func reload(_ configuration: String) async throws {
      let before = reloads
      self.configuration.withLock { $0 = configuration }
      try writeConfiguration()
      signal(SIGHUP)
      try await eventually("expected that the server reads its configuration") { reloads > before }
    }

    private var reloads: Int {
      let log = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
      return log.matches(of: /Reloaded server configuration/).count
    }

    private func writeConfiguration() throws {
      try (base + configuration.withLock { $0 } + "\n").write(
        toFile: "\(folder)/server.conf", atomically: true, encoding: .utf8)
    }

    func start() throws {
      let file = "\(folder)/server.conf"
      try writeConfiguration()
      let server = Process()
      server.executableURL = URL(fileURLWithPath: NATSServer.program)
      server.arguments = ["-c", file]
      server.standardOutput = FileHandle.nullDevice
      server.standardError = FileHandle.nullDevice
      try server.run()
      process.withLock { $0 = server.processIdentifier }
    }

    /// Ends the process as a crash does, and waits until it has ended. Until then the process
    /// occupies its port, and a new process on that port would end at once.
    func end() {
      let id = process.withLock { $0 }
      signal(SIGKILL)
      var info = unsafe siginfo_t()
      if id > 0 { while unsafe waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {} }
    }
    /// Stops the process, and waits until its last thread stands still.
    func freeze() {
      signal(SIGSTOP)
      var info = unsafe siginfo_t()
      let id = process.withLock { $0 }
      if id > 0 { _ = unsafe waitid(P_PID, id_t(id), &info, WSTOPPED | WNOWAIT) }
    }
    func thaw() { signal(SIGCONT) }

    private func signal(_ number: Int32) {
      let id = process.withLock { id in
        defer { if number == SIGKILL { id = 0 } }
        return id
      }
      if id > 0 { kill(id, number) }
    }

    private static let program =
      ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].map { "\($0)/nats-server" }
      .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "nats-server"

    private static func freePort() throws -> Int {
      let socket = try LoopbackSocket()
      return socket.port
    }
  }

  /// Waits until a condition holds.
  func eventually(
    within limit: Duration = .seconds(30), _ text: @autoclosure () -> String,
    at location: SourceLocation = #_sourceLocation,
    _ condition: () -> Bool
  ) async throws {
    let end = ContinuousClock.now + limit
    while !condition() {
      try #require(ContinuousClock.now < end, "\(text())", sourceLocation: location)
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Returns the `TransportError` that a closure throws; `nil` if it throws none.
  func transportError(_ body: () async throws -> Void) async -> TransportError? {
    do {
      try await body()
      return nil
    } catch { return error as? TransportError }
  }
#endif
