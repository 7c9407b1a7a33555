public import EventingTransport

/// Checks that an engine keeps the promises of ``EventingTransport/Transport``.
///
///     @Test(arguments: TransportConformance.checks)
///     func theEngineConforms(check: TransportConformance.Check) async throws {
///       try await TransportConformance(prefix: "test", pause: ContinuousClock()) {
///         try await NATS.connect(server).stream("TEST", subjects: ["test.>"])
///       }.run(check)
///     }
///
/// Each check makes its own transports, and uses subjects and groups that no other check uses. If
/// an engine does not promise what a check tests, the check does nothing.
public struct TransportConformance: Sendable {
  /// A check of one promise.
  public struct Check: Hashable, Sendable, CustomStringConvertible {
    /// The name of the check.
    public let name: String
    let body: @Sendable (Conformance) async throws -> Void

    public var description: String { name }
    public static func == (a: Check, b: Check) -> Bool { a.name == b.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }

  private let prefix: String
  private let clock: any Clock<Duration>
  private let patience: Duration
  private let connect: @Sendable () async throws -> any Transport
  private let restart: (@Sendable () async throws -> Void)?
  private let close: (@Sendable (any Transport) async throws -> Void)?
  private let vanish: (@Sendable (any Transport) async throws -> Void)?

  /// Creates the checks of an engine.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of all subjects. A stream must store `prefix.>`.
  ///   - clock: The clock on which the checks wait. In a simulation, pass its clock.
  ///   - patience: The longest wait for something that must happen.
  ///   - connect: A closure that returns a new transport to the engine, as another process would
  ///     have.
  ///   - restart: A closure that kills the engine and starts it again. If `nil`, restarts are not
  ///     checked.
  ///   - close: A closure that closes the connection of a transport that `connect` returned, and
  ///     waits less than `patience` for handlers. The other transports stay open. If `nil`, closing
  ///     is not checked.
  ///   - vanish: A closure that cuts the connection of a transport that `connect` returned, without
  ///     a warning, as the death of a process does. If `nil`, such deaths are not checked.
  public init(
    prefix: String, pause clock: any Clock<Duration>, patience: Duration = .seconds(30),
    connect: @escaping @Sendable () async throws -> any Transport, restart: (@Sendable () async throws -> Void)? = nil,
    close: (@Sendable (any Transport) async throws -> Void)? = nil,
    vanish: (@Sendable (any Transport) async throws -> Void)? = nil
  ) {
    self.prefix = prefix
    self.clock = clock
    self.patience = patience
    self.connect = connect
    self.restart = restart
    self.close = close
    self.vanish = vanish
  }

  /// Runs one check.
  ///
  /// - Throws: A ``ConformanceFailure``, or the error of the engine.
  public func run(_ check: Check) async throws {
    let conformance = Conformance(
      subject: "\(prefix).\(check.name)", check: check.name, clock: clock, patience: patience,
      first: try await connect(), second: try await connect(), restart: restart, close: close,
      vanish: vanish)
    try await check.body(conformance)
  }

  /// Runs all checks, one after the other.
  ///
  /// - Throws: The error of the first check that fails.
  public func runAll() async throws { for check in TransportConformance.checks { try await run(check) } }

  /// All checks.
  public static let checks: [Check] = [
    Check(name: "delivers") { try await $0.delivers() },
    Check(name: "order") { try await $0.order() },
    Check(name: "forward") { try await $0.forward() },
    Check(name: "groups") { try await $0.groups() },
    Check(name: "inFlight") { try await $0.inFlight() },
    Check(name: "readiness") { try await $0.readiness() },
    Check(name: "retry") { try await $0.retry() },
    Check(name: "release") { try await $0.release() },
    Check(name: "reject") { try await $0.reject() },
    Check(name: "deadLetter") { try await $0.deadLetter() },
    Check(name: "deadLetterQueue") { try await $0.deadLetterQueue() },
    Check(name: "backlog") { try await $0.backlog() },
    Check(name: "duplicates") { try await $0.duplicates() },
    Check(name: "reusedIDs") { try await $0.reusedIDs() },
    Check(name: "bytes") { try await $0.bytes() },
    Check(name: "positions") { try await $0.positions() },
    Check(name: "wildcard") { try await $0.wildcard() },
    Check(name: "largeBodies") { try await $0.largeBodies() },
    Check(name: "memberDies") { try await $0.memberDies() },
    Check(name: "cancelUnderLoad") { try await $0.cancelUnderLoad() },
    Check(name: "drain") { try await $0.drain() },
    Check(name: "atMostOnce") { try await $0.atMostOnce() },
    Check(name: "requests") { try await $0.requests() },
    Check(name: "restart") { try await $0.restarts() },
    Check(name: "closes") { try await $0.closes() },
    Check(name: "memberVanishes") { try await $0.memberVanishes() },
  ]
}

/// The promise that an engine has broken.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
  /// The name of the check.
  public let check: String
  /// A sentence that names what was expected and what was found.
  public let description: String
}

/// One running check: two transports to one engine, and a subject of its own.
struct Conformance: Sendable {
  let subject: String
  let check: String
  let clock: any Clock<Duration>
  let patience: Duration
  let first: any Transport
  let second: any Transport
  let restart: (@Sendable () async throws -> Void)?
  let close: (@Sendable (any Transport) async throws -> Void)?
  let vanish: (@Sendable (any Transport) async throws -> Void)?

  var isAtLeastOnce: Bool { first.promises.isAtLeastOnce }

  func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(check: check, description: "\(check): \(text())") }
  }

  /// Waits until a condition holds. Fails after `patience`.
  func eventually(_ text: @autoclosure () -> String, _ condition: () -> Bool) async throws {
    let step = Duration.milliseconds(5)
    var waited = Duration.zero
    while !condition() {
      try expect(waited < patience, "\(text()), after \(patience)")
      try await clock.sleep(for: step)
      waited += step
    }
  }

  /// Waits long enough for an unwanted message to arrive.
  func pause(_ duration: Duration = .milliseconds(300)) async throws { try await clock.sleep(for: duration) }

  /// Publishes one message for each number, whose body is the number as text.
  func publish(_ numbers: ClosedRange<Int>, to other: String? = nil) async throws {
    for number in numbers {
      _ = try await first.publish(RemoteMessage(body: Array("\(number)".utf8)), to: other ?? subject)
    }
  }

  /// Whether the engine redelivers a message without a verdict to another member of the group, when
  /// the subscription that received the message ends.
  var redelivers: Bool { isAtLeastOnce && first.promises.hasGroups }

  /// Returns options with a group that only this check uses, if the engine has groups.
  func options(group: String? = nil, inFlight: Int = 256) -> SubscribeOptions {
    var options = SubscribeOptions()
    options.group = first.promises.hasGroups ? group.map { "\(check)_\($0)" } : nil
    options.inFlight = inFlight
    return options
  }

  /// Subscribes with a log, which records the messages and gives them their verdicts.
  func subscribe(
    _ log: MessageLog, over transport: (any Transport)? = nil, to other: String? = nil,
    _ options: SubscribeOptions? = nil
  ) async throws -> any TransportSubscription {
    try await (transport ?? second).subscribe(other ?? subject, options ?? self.options(group: "one")) { log.begin($0) }
  }
}
