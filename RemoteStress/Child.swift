#if NATS
  import Foundation

  /// A process of the run. A run starts it again after killing it.
  final class Child {
    let name: String
    private let program: String
    private let arguments: (Int) -> [String]
    private var process = Process()
    private var frozen = false
    /// The number of times that the process was started.
    private(set) var starts = 0

    /// Starts a process.
    ///
    /// - Parameter arguments: A closure that returns the arguments for a start, given the number of
    ///   earlier starts.
    init(_ name: String, _ program: String, _ arguments: @escaping (Int) -> [String]) throws {
      (self.name, self.program, self.arguments) = (name, program, arguments)
      try start()
    }

    deinit { end() }

    private func start() throws {
      process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments(starts)
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.standardError
      if name == "broker" { process.standardError = FileHandle.nullDevice }
      try process.run()
      starts += 1
    }

    func freeze() {
      frozen = true
      kill(process.processIdentifier, SIGSTOP)
    }

    func thaw() {
      guard frozen else { return }
      frozen = false
      kill(process.processIdentifier, SIGCONT)
    }

    func end() {
      guard process.isRunning else { return }
      frozen = false
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
    }

    func restart() throws {
      end()
      try start()
    }

    /// Asks the process to finish its work and to end, and then starts it again. Kills the old
    /// process if it has not ended after 15 s.
    func restartGently() async throws {
      thaw()
      kill(process.processIdentifier, SIGTERM)
      let end = ContinuousClock.now + .seconds(15)
      while process.isRunning, .now < end { try await Task.sleep(for: .milliseconds(20)) }
      try restart()
    }
  }
#endif
