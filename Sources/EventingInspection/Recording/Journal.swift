import Eventing
import Foundation

/// A delivery takes its place in the order first, encodes its payload without a mutex, and then
/// adds its line. A line is written as soon as all lines before it are there, by a thread that has
/// added one or by a block on a global queue: one at a time, and never under a mutex.
///
/// At most ``waitingLimit`` bytes wait for the file, and one line more for each thread that
/// encodes. Further occurrences are left out: a *gap*, which has a line of its own.
final class Journal: Sendable {
  /// The number of the line, and what else it says of the occurrence.
  struct Place: Sendable {
    let number: Int
    let time: UInt64
    let sender: Int?
    let cause: Int?
  }

  private struct State {
    var names: Set<String> = []
    /// Also the number of occurrences with a place.
    var lastPlace = 0
    var nextLine = 1
    /// The first line that is not written because of an error.
    var end = Int.max
    /// No thread has taken these lines for writing yet.
    var lines: [Int: [UInt8]] = [:]
    /// Lines without an occurrence: the first line, names of events, and gaps. They stand
    /// before the occurrence `before`.
    var headers: [(before: Int, line: [UInt8])] = []
    /// Includes the memory that an array and a table need for each line.
    var waitingBytes = 0
    /// Left out after the last place, and the time of the first. ``takeGap()`` makes the line for
    /// them.
    var gap = (count: 0, time: 0)
    var lostCount = 0
    var senders = SenderNumbers()
    var causes = CauseNumbers()
    var isWriting = false
    var isClosing = false
    var failure: (any Error)?
    var outcome: Result<Int, any Error>?
    var waiters: [@Sendable (Result<Int, any Error>) -> Void] = []

    /// Set above the limit of waiting bytes, cleared at half of it.
    var isBehind = false

    /// Counts an occurrence that is left out.
    mutating func leavesOut(at time: Int, _ limit: Int) -> Bool {
      isBehind = waitingBytes > (isBehind ? limit / 2 : limit)
      guard isBehind else { return false }
      if gap.count == 0 { gap.time = time }
      gap.count += 1
      lostCount += 1
      return true
    }

    /// Begins a new count. No bytes if none were left out.
    mutating func takeGap() -> [UInt8] {
      guard gap.count > 0 else { return [] }
      defer { gap = (0, 0) }
      return Array("{\"gap\":true,\"t\":\(max(0, gap.time)),\"count\":\(gap.count)}\n".utf8)
    }

    mutating func addHeader(_ line: [UInt8]) {
      guard !line.isEmpty else { return }
      headers.append((lastPlace + 1, line))
      waitingBytes += Journal.size(line)
    }

    var isWhole: Bool { nextLine > lastPlace || nextLine >= end }

    /// Up to ``Journal/batch`` bytes. Their size stays in `waitingBytes` until they are written.
    mutating func takeLines() -> (bytes: [UInt8], size: Int) {
      var taken: [UInt8] = []
      var size = 0
      while nextLine < end, taken.count < Journal.batch {
        while let header = headers.first, header.before <= nextLine {
          taken += header.line
          size += Journal.size(header.line)
          headers.removeFirst()
        }
        guard let line = lines.removeValue(forKey: nextLine) else { break }
        taken += line
        size += Journal.size(line)
        nextLine += 1
      }
      return (taken, size)
    }
  }

  /// The size of one write. The thread that writes may be one that posts; a post waits for one
  /// write at most, as a rule.
  private static let batch = 262_144

  /// Compared before encoding, so each thread that encodes may exceed it by one line.
  static let waitingLimit = 16_777_216

  private static func size(_ line: [UInt8]) -> Int { line.count + 64 }

  private let state = Guarded(State())
  private let file: RecordingFile
  private let elapsed: @Sendable () -> Int

  init(_ file: RecordingFile, timedBy clock: any Clock<Duration>) {
    self.file = file
    elapsed = Journal.elapsed(on: clock)
    let epoch = Int(Date().timeIntervalSince1970 * 1_000)
    state.withLock { $0.addHeader(Array("{\"recording\":1,\"epoch\":\(epoch)}\n".utf8)) }
    writeLines()
  }

  private static func elapsed<Time: Clock>(on clock: Time) -> @Sendable () -> Int where Time.Duration == Duration {
    let start = clock.now
    return {
      let (seconds, attoseconds) = start.duration(to: clock.now).components
      return Int(clamping: min(seconds, 9_000_000_000)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    }
  }

  /// False if the name is taken, or the recording has ended.
  func admit(_ name: String, type: String) -> Bool {
    let line = Array("{\"event\":\(JSONFragment.text(name)),\"type\":\(JSONFragment.text(type))}\n".utf8)
    let isNew = state.withLock { state in
      guard !state.isClosing else { return false }
      guard state.names.insert(name).inserted else {
        state.failure =
          state.failure
          ?? InspectionError(
            .nameTaken, "expected one event of the name \(name), got a second one, which is not recorded")
        return false
      }
      state.addHeader(line)
      return true
    }
    writeLines()
    return isNew
  }

  var lostCount: Int { state.withLock { $0.lostCount } }

  var waitingBytes: Int { state.withLock { $0.waitingBytes } }

  /// `nil` if the recording was ended or has failed, or too many bytes wait.
  func begin(_ occurrence: TracedOccurrence) -> Place? {
    let time = elapsed()
    // `loaded` is released after the unlock.
    var loaded: [any AnyObject & Sendable] = []
    return state.withLock { state in
      guard !state.isClosing, state.end == .max, !state.leavesOut(at: time, Self.waitingLimit) else {
        return nil
      }
      state.addHeader(state.takeGap())
      state.lastPlace += 1
      state.causes.began(occurrence, as: state.lastPlace)
      return Place(
        number: state.lastPlace, time: UInt64(max(0, time)),
        sender: occurrence.sender.map { state.senders.number(of: $0, &loaded) },
        cause: state.causes.cause(of: occurrence))
    }
  }

  func began(_ call: TracedCall) { state.withLock { $0.causes.began(call) } }

  /// `line` has its line break.
  func write(_ line: [UInt8], at place: Place) {
    state.withLock { state in
      state.lines[place.number] = line
      state.waitingBytes += Self.size(line)
    }
    writeLines()
  }

  /// The line cannot be made, so the recording ends before it.
  func fail(at place: Place, _ error: any Error) {
    state.withLock { state in
      if place.number < state.end { (state.end, state.failure) = (place.number, state.failure ?? error) }
    }
    writeLines()
  }

  /// `body` gets the number of occurrences in the file, or the first error, once the file is
  /// closed.
  func close(_ body: @escaping @Sendable (Result<Int, any Error>) -> Void) {
    let outcome = state.withLock { state in
      state.isClosing = true
      if state.outcome == nil { state.waiters.append(body) }
      return state.outcome
    }
    if let outcome { body(outcome) } else { writeLines() }
  }

  // MARK: The file

  private enum Step { case write([UInt8], size: Int), close([UInt8]), wait }

  /// Up to the first line that is not there yet. Does nothing while another thread writes. Without
  /// `inBackground`, the thread may be posting: it makes one write, and leaves the rest to a block.
  private func writeLines(inBackground: Bool = false) {
    while true {
      let time = elapsed()
      let step = state.withLock { state -> Step in
        guard !state.isWriting, state.outcome == nil else { return .wait }
        let lines = state.takeLines()
        let isEnd = state.isClosing && state.isWhole && lines.bytes.count < Self.batch
        guard !lines.bytes.isEmpty || isEnd else { return .wait }
        state.isWriting = true
        guard isEnd else { return .write(lines.bytes, size: lines.size) }
        let isComplete = state.end == .max
        let last = "{\"end\":true,\"t\":\(max(0, time)),\"count\":\(state.nextLine - 1)}\n"
        return .close(lines.bytes + (isComplete ? state.takeGap() + Array(last.utf8) : []))
      }
      switch step {
      case .wait: return
      case .write(let lines, let size):
        written(Result { try file.write(lines) }, size)
        if !inBackground, hasMore {
          return Scheduling.concurrentBlock { self.writeLines(inBackground: true) }
        }
      case .close(let lines):
        let written = Result { try file.write(lines) }
        let isClosed = Result { try file.close() }
        return closed(written.flatMap { isClosed })
      }
    }
  }

  private var hasMore: Bool {
    state.withLock { state in state.lines[state.nextLine] != nil || state.isClosing }
  }

  private func written(_ result: Result<Void, any Error>, _ size: Int) {
    state.withLock { state in
      state.isWriting = false
      state.waitingBytes -= size
      guard case .failure(let error) = result else { return }
      (state.end, state.failure) = (min(state.end, state.nextLine), state.failure ?? error)
    }
  }

  private func closed(_ result: Result<Void, any Error>) {
    let (outcome, waiters) = state.withLock { state in
      if case .failure(let error) = result { state.failure = state.failure ?? error }
      let outcome: Result<Int, any Error> = state.failure.map { .failure($0) } ?? .success(state.nextLine - 1)
      state.outcome = outcome
      defer { state.waiters = [] }
      return (outcome, state.waiters)
    }
    for waiter in waiters { waiter(outcome) }
  }
}

extension Journal.Place {
  /// `name` is a JSON string; `body` has the payload, and perhaps the key, as JSON.
  func line(of name: String, _ sequence: UInt64, _ body: KeyValuePairs<String, [UInt8]>) -> [UInt8] {
    var line = Array(
      """
      {"n":\(number),"t":\(time),"as":\(name),"sequence":\(sequence),\
      "sender":\(JSONFragment.text(sender)),"cause":\(JSONFragment.text(cause))
      """.utf8)
    for (key, value) in body { line += Array(",\"\(key)\":".utf8) + value }
    return line + Array("}\n".utf8)
  }
}
