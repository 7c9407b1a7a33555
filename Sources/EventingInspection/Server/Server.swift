import Eventing
import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Accepts clients, reads counters and answers, on a thread of its own.
final class Server: Sendable {
  private let file: SocketFile
  private let allowsControl: Bool
  private let limits: ClientLimits
  private let pipe: (read: Int32, write: Int32)
  private let isOver = Atomic<Bool>(false)

  // The counts of ``Inspection/Counts``.
  let clientCount = Atomic<Int>(0)
  let refusedCount = Atomic<Int>(0)
  let malformedCount = Atomic<Int>(0)
  let missedCount = Atomic<Int>(0)
  /// Only a test reads this.
  let mostWaiting = Atomic<Int>(0)

  init(_ file: SocketFile, allowsControl: Bool, _ limits: ClientLimits) throws(InspectionError) {
    self.file = file
    self.allowsControl = allowsControl
    self.limits = limits
    pipe = try Descriptors.makePipe()
  }

  // The pipe is closed here and not by the thread, because a call of stop() may still write to it.
  deinit {
    close(pipe.read)
    close(pipe.write)
  }

  /// The thread retains the server until ``stop()``.
  func start() {
    let thread = Thread { self.run() }
    thread.name = "eventing.inspection"
    thread.qualityOfService = .utility
    thread.start()
  }

  /// Does not wait for the thread. Callable from any thread.
  func stop() {
    isOver.publish(true)
    wake()
  }

  /// Callable from any thread.
  private func wake() { _ = unsafe [UInt8(1)].withUnsafeBytes { unsafe write(pipe.write, $0.baseAddress, 1) } }

  // MARK: The thread

  private func run() {
    let poller = Poller()
    var connections: [Connection] = []
    var (lostMalformed, lostMissed) = (0, 0)
    // No connection is accepted before this time, which is set when the process has run out of
    // descriptors.
    var acceptsAt: UInt64 = 0
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
    defer { unsafe buffer.deallocate() }
    while !isOver.load(ordering: .acquiring) {
      var now = InspectionClock.now
      if !connections.isEmpty, now >= poller.polledAt + pollInterval(connections) {
        poller.poll()
        now = InspectionClock.now
      }
      for connection in connections {
        connection.tick(at: now)
        connection.flush(at: now)
      }
      for connection in connections where connection.isClosed {
        connection.trace = nil
        (lostMalformed, lostMissed) = (lostMalformed + connection.malformed, lostMissed + connection.missed)
        if !connection.hasSaidHello { refusedCount.wrappingAdd(1, ordering: .relaxed) }
      }
      let closed = connections.filter(\.isClosed)
      connections.removeAll { $0.isClosed }
      if connections.isEmpty { poller.rest() }
      clientCount.store(connections.count, ordering: .relaxed)
      malformedCount.store(connections.reduce(lostMalformed) { $0 + $1.malformed }, ordering: .relaxed)
      missedCount.store(connections.reduce(lostMissed) { $0 + $1.missed }, ordering: .relaxed)
      let most = connections.map(\.waitingBytes).max() ?? 0
      if most > mostWaiting.load(ordering: .relaxed) { mostWaiting.store(most, ordering: .relaxed) }
      // Closes the descriptors only now, after `clientCount` and the other counts are stored above.
      // So when a client sees the end of its connection, these counts already include that end.
      for connection in closed { close(connection.descriptor) }

      var descriptors = connections.map { connection -> pollfd in
        var wanted: Int16 = 0
        if connection.wantsToRead(at: now) { wanted |= Int16(POLLIN) }
        if connection.wantsToWrite { wanted |= Int16(POLLOUT) }
        return pollfd(fd: connection.descriptor, events: wanted, revents: 0)
      }
      let mayAccept = now >= acceptsAt
      descriptors.append(pollfd(fd: file.descriptor, events: mayAccept ? Int16(POLLIN) : 0, revents: 0))
      descriptors.append(pollfd(fd: pipe.read, events: Int16(POLLIN), revents: 0))
      var timeout = timeout(connections, poller, now)
      if !mayAccept, timeout < 0 || timeout > 100 { timeout = 100 }
      _ = unsafe poll(&descriptors, nfds_t(descriptors.count), timeout)
      now = InspectionClock.now
      if descriptors[connections.count + 1].revents != 0 {
        _ = unsafe read(pipe.read, buffer.baseAddress, buffer.count)
      }
      for (index, connection) in connections.enumerated() {
        let found = descriptors[index].revents
        if found & Int16(POLLIN | POLLHUP | POLLERR) != 0 { unsafe connection.receive(into: buffer, at: now) }
      }
      if mayAccept, descriptors[connections.count].revents != 0, !accept(&connections, poller, now) {
        acceptsAt = now + ClientLimits.second / 2
      }
    }
    for connection in connections {
      connection.end()
      close(connection.descriptor)
    }
    poller.rest()
    clientCount.store(0, ordering: .relaxed)
    close(file.descriptor)
  }

  private func pollInterval(_ connections: [Connection]) -> UInt64 {
    min(ClientLimits.second, connections.compactMap(\.interval).min() ?? ClientLimits.second)
  }

  private func timeout(_ connections: [Connection], _ poller: Poller, _ now: UInt64) -> Int32 {
    guard !connections.isEmpty else { return -1 }
    let next = connections.reduce(poller.polledAt + pollInterval(connections)) { min($0, $1.deadline(at: now)) }
    return next <= now ? 0 : Int32(clamping: (next - now) / 1_000_000 + 1)
  }

  /// Returns false if the process has no descriptor for another client.
  private func accept(_ connections: inout [Connection], _ poller: Poller, _ now: UInt64) -> Bool {
    for _ in 0..<16 {
      guard let descriptor = Descriptors.accept(file.descriptor) else {
        return ![EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno)
      }
      guard Descriptors.isPeerAllowed(descriptor) else {
        refusedCount.wrappingAdd(1, ordering: .relaxed)
        close(descriptor)
        continue
      }
      guard connections.count < limits.clients else {
        refusedCount.wrappingAdd(1, ordering: .relaxed)
        var line = JSONWriter()
        line.beginObject()
        line.pair("push", "error")
        line.error("busy", "expected at most \(limits.clients) clients")
        line.endObject()
        _ = Descriptors.write(descriptor, line.line()[...])
        close(descriptor)
        continue
      }
      if connections.isEmpty { poller.poll() }
      let connection = Connection(
        descriptor, poller, limits, allowsControl: allowsControl, at: now, wake: { [weak self] in self?.wake() })
      connection.sendHello(hello())
      connections.append(connection)
    }
    return true
  }

  private func hello() -> [UInt8] {
    var line = JSONWriter()
    line.beginObject()
    line.pair("push", "hello")
    line.pair("protocol", 1)
    line.pair("library", "0.9")
    line.pair("pid", Int(getpid()))
    line.pair("program", ProcessInfo.processInfo.processName)
    line.pair("epoch", InspectionClock.epoch)
    line.pair("t", InspectionClock.now)
    line.pair("control", allowsControl)
    line.pair("events", EventRegistry.events.count)
    line.key("limits")
    line.beginObject()
    line.pair("line", limits.line)
    line.pair("reply", limits.reply)
    line.pair("queue", limits.queue)
    line.pair("clients", limits.clients)
    line.pair("minInterval", limits.intervals.lowerBound)
    line.pair("maxInterval", limits.intervals.upperBound)
    line.pair("subscriptions", limits.subscriptions)
    line.pair("megabytes", limits.megabytes)
    line.endObject()
    line.endObject()
    return line.line()
  }
}
