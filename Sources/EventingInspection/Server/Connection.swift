import Eventing

/// One client: what it sent, what waits for it, and its subscriptions. It belongs to the thread of
/// the server.
final class Connection {
  let descriptor: Int32
  private let limits: Limits
  private let poller: Poller
  private let allowsControl: Bool

  /// What was read and is no whole line yet.
  private var input: [UInt8] = []
  /// The lines that wait, and how much of the first one is sent.
  private var output: [[UInt8]] = []
  private var sent = 0
  private var queued = 0
  /// The answers and updates that are made when there is room, in order.
  private var jobs: [Job] = []
  private var subscriptions: [Subscription] = []
  private var lastSubscription: UInt64 = 0
  private var mistakes = 0
  private(set) var hasGreeted = false
  private var hasControl = false
  /// Whether the connection ends as soon as all that waits is sent.
  private var isEnding = false
  /// Whether the connection is over.
  private(set) var isClosed = false
  private let openedAt: UInt64
  /// When the client last took something, or nothing waited.
  private var tookAt: UInt64
  /// What was read in the current second.
  private var window: (start: UInt64, lines: Int, bytes: Int)
  /// The lines of this client that were no request.
  private(set) var malformed = 0
  /// The updates that this client missed.
  private(set) var missed = 0

  init(_ descriptor: Int32, _ poller: Poller, _ limits: Limits, allowsControl: Bool, at now: UInt64) {
    self.descriptor = descriptor
    self.poller = poller
    self.limits = limits
    self.allowsControl = allowsControl
    (openedAt, tookAt, window) = (now, now, (now, 0, 0))
  }

  // MARK: For the server

  /// The bytes that wait for the client.
  var waitingBytes: Int { queued }

  /// Whether anything waits to be sent.
  var wantsToWrite: Bool { queued > 0 || !jobs.isEmpty }

  /// Whether requests are read: not from a client that does not take its answers, nor from one that
  /// sends more than it may.
  func wantsToRead(at now: UInt64) -> Bool {
    !isEnding && jobs.count < limits.jobs && queued < limits.queue / 2 && !isOverBudget(at: now)
  }

  /// When the client must be looked at again, even if it sends nothing.
  func deadline(at now: UInt64) -> UInt64 {
    var next = hasGreeted ? UInt64.max : openedAt + limits.helloTime
    if wantsToWrite { next = min(next, tookAt + limits.idleTime) }
    if isOverBudget(at: now) { next = min(next, window.start + Limits.second) }
    return subscriptions.reduce(next) { min($0, $1.nextAt) }
  }

  /// The shortest interval of the subscriptions; `nil` if there are none.
  var interval: UInt64? { subscriptions.map(\.interval).min() }

  /// Sends the server's first line.
  func greet(_ hello: [UInt8]) { enqueue(hello) }

  /// Looks at what time has brought: updates that are due, and clients that are too slow.
  func tick(at now: UInt64) {
    if !hasGreeted, now >= openedAt + limits.helloTime { fail("hello", "expected a hello within 5 s", closes: true) }
    if !wantsToWrite { tookAt = now }
    if now >= tookAt + limits.idleTime { isClosed = true }
    for index in subscriptions.indices where now >= subscriptions[index].nextAt {
      let id = subscriptions[index].id
      let isWaiting = jobs.contains { $0.subscription == id } || queued > limits.queue / 2
      if let update = subscriptions[index].update(at: now, isWaiting: isWaiting, poller) {
        jobs.append(update)
      } else {
        missed += 1
      }
    }
    fill()
  }

  /// Says goodbye, and sends what fits into the socket.
  func end() {
    jobs = []
    var line = JSONWriter()
    line.beginObject()
    line.pair("push", "bye")
    line.pair("reason", "ended")
    line.endObject()
    enqueue(line.line())
    flush(at: InspectionClock.now)
    isClosed = true
  }

  // MARK: Reading

  /// Reads what has come, and answers it.
  func receive(into buffer: UnsafeMutableRawBufferPointer, at now: UInt64) {
    switch unsafe Descriptors.read(descriptor, into: buffer) {
    case .wouldBlock: return
    case .closed: isClosed = true
    case .bytes(let count):
      if now >= window.start + Limits.second { window = (now, 0, 0) }
      window.bytes += count
      unsafe take(UnsafeRawBufferPointer(buffer)[..<count], at: now)
    }
  }

  private func isOverBudget(at now: UInt64) -> Bool {
    now < window.start + Limits.second && (window.lines > limits.linesASecond || window.bytes > limits.bytesASecond)
  }

  private func take(_ bytes: Slice<UnsafeRawBufferPointer>, at now: UInt64) {
    var rest = unsafe bytes
    while !isEnding, let end = unsafe rest.firstIndex(of: UInt8(ascii: "\n")) {
      unsafe input.append(contentsOf: rest[..<end])
      unsafe rest = unsafe rest[rest.index(after: end)...]
      if input.count > limits.line { return failLine() }
      if input.last == UInt8(ascii: "\r") { input.removeLast() }
      let line = input
      input.removeAll(keepingCapacity: input.capacity <= 4_096)
      if !line.isEmpty {
        window.lines += 1
        answer(line[...], at: now)
      }
    }
    if isEnding { return }
    if unsafe input.count + rest.count > limits.line { return failLine() }
    unsafe input.append(contentsOf: rest)
  }

  private func failLine() {
    input = []
    malformed += 1
    fail("line", "expected lines of at most \(limits.line) bytes", closes: true)
  }

  // MARK: Answering

  private func answer(_ line: ArraySlice<UInt8>, at now: UInt64) {
    guard let json = JSONValue(line), case .object = json else {
      return mistake(nil, "json", "expected a JSON object")
    }
    guard let id = RequestID(json["id"]) else {
      return mistake(nil, "request", "expected an \"id\": an integer, or a text of at most 64 bytes")
    }
    guard case .text(let name)? = json["do"] else { return mistake(id, "request", "expected a \"do\"") }
    if !hasGreeted { return greet(id, name, json) }
    switch name {
    case "hello": mistake(id, "request", "expected one hello")
    case "snapshot", "warnings":
      guard let (parts, events) = selection(id, json, isAllowed: name == "snapshot") else { return }
      jobs.append(Job(answering: id, name == "warnings" ? .warnings : parts, events, isAlone: name == "warnings"))
    case "subscribe": subscribe(id, json, at: now)
    case "unsubscribe": unsubscribe(id, json)
    case "lock", "unlock": setLock(id, json, isLocked: name == "lock")
    default: mistake(id, "unknown", "there is no request \"\(name.prefix(64))\"")
    }
    fill()
  }

  private func greet(_ id: RequestID, _ name: String, _ json: JSONValue) {
    guard name == "hello", case .integer(let version)? = json["protocol"] else {
      malformed += 1
      return fail("hello", "expected a hello with a \"protocol\"", id, closes: true)
    }
    guard version == 1 else { return fail("version", "expected protocol 1", id, closes: true, supported: true) }
    hasGreeted = true
    hasControl = allowsControl && json["control"] == .bool(true)
    var line = JSONWriter()
    line.beginAnswer(id)
    line.pair("protocol", 1)
    line.pair("control", hasControl)
    line.endObject()
    jobs.append(Job(line: line.line()))
    fill()
  }

  /// Returns the parts and the events that a request asks for; `nil` after an error.
  private func selection(_ id: RequestID, _ json: JSONValue, isAllowed: Bool) -> (Parts, Set<UInt64>?)? {
    guard isAllowed else { return (.warnings, nil) }
    var (parts, events): (Parts, Set<UInt64>?) = (.all, nil)
    if let given = json["parts"] {
      parts = []
      guard case .array(let names) = given else {
        mistake(id, "request", "expected \"parts\" as an array")
        return nil
      }
      for name in names {
        guard case .text(let text) = name, let known = Parts.named.first(where: { "\($0.name)" == text }) else {
          mistake(id, "request", "expected parts of events, handlers, graph, waits, warnings")
          return nil
        }
        parts.insert(known.part)
      }
    }
    if let given = json["events"] {
      guard case .array(let ids) = given else {
        mistake(id, "request", "expected \"events\" as an array")
        return nil
      }
      var chosen: Set<UInt64> = []
      for each in ids {
        guard case .integer(let number) = each else {
          mistake(id, "request", "expected \"events\" as an array of ids")
          return nil
        }
        guard number > 0, poller.index(of: UInt64(number)) != nil else {
          fail("event", "there is no event \(number)", id)
          return nil
        }
        chosen.insert(UInt64(number))
      }
      events = chosen
    }
    return (parts, events)
  }

  private func subscribe(_ id: RequestID, _ json: JSONValue, at now: UInt64) {
    guard let (parts, events) = selection(id, json, isAllowed: true) else { return }
    var interval = 250
    if let given = json["interval"] {
      guard case .integer(let milliseconds) = given else {
        return mistake(id, "request", "expected \"interval\" as milliseconds")
      }
      interval = min(max(milliseconds, limits.intervals.lowerBound), limits.intervals.upperBound)
    }
    guard subscriptions.count < limits.subscriptions else {
      return fail("busy", "expected at most \(limits.subscriptions) subscriptions", id)
    }
    lastSubscription = Subscription.nextID()
    subscriptions.append(
      Subscription(
        id: lastSubscription, interval: UInt64(interval) * 1_000_000, parts: parts, events: events, nextAt: now))
    var line = JSONWriter()
    line.beginAnswer(id)
    line.pair("sub", lastSubscription)
    line.pair("interval", interval)
    line.endObject()
    jobs.append(Job(line: line.line()))
  }

  private func unsubscribe(_ id: RequestID, _ json: JSONValue) {
    guard case .integer(let number)? = json["sub"] else { return mistake(id, "request", "expected a \"sub\"") }
    guard let at = subscriptions.firstIndex(where: { $0.id == UInt64(clamping: number) }) else {
      return fail("sub", "there is no subscription \(number)", id)
    }
    let gone = subscriptions.remove(at: at).id
    jobs.removeAll { $0.subscription == gone }
    var line = JSONWriter()
    line.beginAnswer(id)
    line.endObject()
    jobs.append(Job(line: line.line()))
  }

  private func setLock(_ id: RequestID, _ json: JSONValue, isLocked: Bool) {
    guard hasControl else { return fail("control", "control is not allowed on both sides", id) }
    guard case .integer(let event)? = json["event"] else { return mistake(id, "request", "expected an \"event\"") }
    var handler: UInt64?
    switch json["handler"] {
    case nil, .null?: break
    case .integer(let number)?: handler = UInt64(clamping: number)
    default: return mistake(id, "request", "expected \"handler\" as an id or null")
    }
    let holding: Holding
    switch json["holding"] {
    case nil, .text("nothing")?: holding = .nothing
    case .text("latest")?: holding = .latest
    case .integer(let count)? where count > 0: holding = .upTo(count)
    default: return mistake(id, "request", "expected \"holding\" as \"nothing\", \"latest\" or a number")
    }
    guard let at = poller.index(of: UInt64(clamping: event)) else {
      return fail("event", "there is no event \(event)", id)
    }
    let isFound = poller.events[at].event.setLocked(isLocked, handler: handler, holding: holding)
    var line = JSONWriter()
    line.beginAnswer(id)
    line.pair("found", isFound)
    line.endObject()
    jobs.append(Job(line: line.line()))
  }

  // MARK: Errors

  /// Answers a line that is no request. The eighth one ends the connection.
  private func mistake(_ id: RequestID?, _ code: String, _ message: String) {
    mistakes += 1
    malformed += 1
    if hasGreeted {
      fail(code, message, id, closes: mistakes >= limits.mistakes)
    } else {
      fail("hello", "expected a hello first", id, closes: true)
    }
  }

  private func fail(
    _ code: String, _ message: String, _ id: RequestID? = nil, closes: Bool = false, supported: Bool = false
  ) {
    jobs.append(Job(line: JSONWriter.error(code, message, id, supported: supported)))
    if closes {
      isEnding = true
      subscriptions = []
    }
    fill()
  }

  // MARK: Writing

  /// Makes lines while there is room for them.
  private func fill() {
    while queued + limits.reply <= limits.queue, let first = jobs.first {
      var job = first
      jobs.removeFirst()
      let (line, isDone) = job.next(poller, limits)
      enqueue(line)
      if !isDone { jobs.insert(job, at: 0) }
    }
  }

  private func enqueue(_ line: [UInt8]) {
    output.append(line)
    queued += line.count
  }

  /// Sends what the socket takes.
  func flush(at now: UInt64) {
    while !isClosed {
      fill()
      guard let line = output.first else { break }
      switch Descriptors.write(descriptor, line[sent...]) {
      case .wouldBlock: return
      case .closed: isClosed = true
      case .bytes(let count):
        tookAt = now
        sent += count
        queued -= count
        if sent == line.count {
          output.removeFirst()
          sent = 0
        }
      }
    }
    if isEnding, !wantsToWrite { isClosed = true }
  }
}
