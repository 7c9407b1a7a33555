import Eventing

/// Used by the server's thread only.
final class Connection {
  let descriptor: Int32
  let limits: ClientLimits
  let poller: Poller
  let allowsControl: Bool

  private var input: [UInt8] = []
  /// The lines to be sent; `sent` bytes of the first one have been sent.
  private var output: [[UInt8]] = []
  private var sent = 0
  private var queued = 0
  /// Lines of these are made when `output` has room.
  var pending: [PendingOutput] = []
  var subscriptions: [Subscription] = []
  var lastSubscription: UInt64 = 0
  var trace: (id: UInt64, trace: EventTrace)?
  var mistakes = 0
  var hasSaidHello = false
  var hasControl = false
  var isEnding = false
  private(set) var isClosed = false
  private let openedAt: UInt64
  /// A thread that appends one then calls `wake`, so that the server's thread sends it.
  let laterAnswers = Guarded<[[UInt8]]>([])
  /// Requests whose answers another thread makes.
  var laterCount = 0
  let wake: @Sendable () -> Void
  /// When the client last took bytes, or nothing waited for it.
  private var tookAt: UInt64
  /// Requests and bytes of the current second, and when that began.
  private var window: (start: UInt64, lines: Int, bytes: Int)
  var malformed = 0
  private(set) var missed = 0

  init(
    _ descriptor: Int32, _ poller: Poller, _ limits: ClientLimits, allowsControl: Bool, at now: UInt64,
    wake: @escaping @Sendable () -> Void
  ) {
    self.wake = wake
    self.descriptor = descriptor
    self.poller = poller
    self.limits = limits
    self.allowsControl = allowsControl
    (openedAt, tookAt, window) = (now, now, (now, 0, 0))
  }

  // MARK: For the server

  var waitingBytes: Int { queued }

  var wantsToWrite: Bool { queued > 0 || !pending.isEmpty }

  /// False if the connection is ending, too much waits for the client, or it has sent too much in
  /// this second.
  func wantsToRead(at now: UInt64) -> Bool {
    !isEnding && pending.count + laterCount < limits.pending && queued < limits.queue / 2 && !isOverBudget(at: now)
  }

  /// Until then the server's thread may wait if nothing arrives.
  func deadline(at now: UInt64) -> UInt64 {
    var next = hasSaidHello ? UInt64.max : openedAt + limits.helloTime
    if wantsToWrite { next = min(next, tookAt + limits.idleTime) }
    if isOverBudget(at: now) { next = min(next, window.start + ClientLimits.second) }
    return subscriptions.reduce(next) { min($0, $1.nextAt) }
  }

  var interval: UInt64? { subscriptions.map(\.interval).min() }

  func sendHello(_ hello: [UInt8]) { enqueue(hello) }

  /// Ends the connection if the client has not sent its hello in time.
  func tick(at now: UInt64) {
    if !hasSaidHello, now >= openedAt + limits.helloTime { fail("hello", "expected a hello within 5 s", closes: true) }
    if !wantsToWrite { tookAt = now }
    sendLaterAnswers()
    for index in subscriptions.indices where now >= subscriptions[index].nextAt {
      let id = subscriptions[index].id
      let isWaiting = pending.contains { $0.subscription == id } || queued > limits.queue / 2
      if let update = subscriptions[index].update(at: now, isWaiting: isWaiting, poller) {
        pending.append(update)
      } else {
        missed += 1
      }
    }
    fill()
  }

  /// Says goodbye, and sends what fits into the socket.
  func end() {
    pending = []
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

  func receive(into buffer: UnsafeMutableRawBufferPointer, at now: UInt64) {
    switch unsafe Descriptors.read(descriptor, into: buffer) {
    case .wouldBlock: return
    case .closed: isClosed = true
    case .bytes(let count):
      if now >= window.start + ClientLimits.second { window = (now, 0, 0) }
      window.bytes += count
      unsafe take(UnsafeRawBufferPointer(buffer)[..<count], at: now)
    }
  }

  private func isOverBudget(at now: UInt64) -> Bool {
    now < window.start + ClientLimits.second
      && (window.lines > limits.linesASecond || window.bytes > limits.bytesASecond)
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

  // MARK: Writing

  func fill() {
    while queued + limits.reply <= limits.queue, let first = pending.first {
      var next = first
      pending.removeFirst()
      let (line, isDone) = next.makeLine(poller, limits)
      enqueue(line)
      if !isDone { pending.insert(next, at: 0) }
    }
  }

  private func enqueue(_ line: [UInt8]) {
    output.append(line)
    queued += line.count
  }

  /// Ends after ``ClientLimits/reply`` bytes, so that a client that asks for much does not delay
  /// the others.
  func flush(at now: UInt64) {
    var sentNow = 0
    while !isClosed, sentNow < limits.reply {
      fill()
      guard let line = output.first else { break }
      switch Descriptors.write(descriptor, line[sent...]) {
      case .wouldBlock:
        // The time limit is checked only when the socket has refused bytes. The time since the
        // client last took bytes is no proof by itself: if this thread runs late, the client may
        // have been ready to read all that time.
        if now >= tookAt + limits.idleTime { isClosed = true }
        return
      case .closed: isClosed = true
      case .bytes(let count):
        tookAt = now
        sent += count
        sentNow += count
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
