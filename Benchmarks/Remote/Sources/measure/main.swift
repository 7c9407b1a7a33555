// Measures remote events with 100 bytes a message:  measure ROW CODEC ADDRESS COUNT
//
// CODEC is `json` (a struct, by Foundation) or `bytes`. If ROW receives, the program first prints
// "ready". The last line of the output is the result: messages per second, or microseconds.
import EventingNATS
import Foundation
import Synchronization

struct Item: Codable, Sendable {
  var sent: Int64 = 0
  var name = "an item of an order"
  var count = 7
  var price = 12.5
  var place = "some town"
}

/// A codec, and the functions that make a payload and read the time at which it was sent.
struct Kind<Payload: Sendable>: Sendable {
  let codec: Codec<Payload>
  let make: @Sendable (_ sent: Int64) -> Payload
  let sent: @Sendable (Payload) -> Int64
  /// The codec alone, for the rows that encode and decode without sending.
  let encode: @Sendable (Payload) throws -> [UInt8]
  let decode: @Sendable ([UInt8]) throws -> Void
}

let json = Kind<Item>(
  codec: .json, make: { Item(sent: $0) }, sent: { $0.sent }, encode: { Array(try JSONEncoder().encode($0)) },
  decode: { _ = try JSONDecoder().decode(Item.self, from: Data($0)) })
let bytes = Kind<[UInt8]>(
  codec: .bytes,
  make: { sent in withUnsafeBytes(of: sent) { Array($0) } + [UInt8](repeating: 120, count: 92) },
  sent: { $0.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) } }, encode: { $0 }, decode: { _ in })

func now() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// The delays of messages, and the times at which the first and the last of them arrived.
final class Arrivals: Sendable {
  private struct State {
    var times: [Int64] = []
    var (first, last) = (Int64(0), Int64(0))
  }

  private let state = Mutex(State())

  func add(_ sent: Int64, at time: Int64) {
    state.withLock { state in
      if state.times.isEmpty { state.first = time }
      state.last = time
      state.times.append(time - sent)
    }
  }

  var count: Int { state.withLock { $0.times.count } }
  var last: Int64 { state.withLock { $0.last } }
  var delays: String { percentiles(state.withLock { $0.times }) }
  var rate: String { state.withLock { rateOf($0.times.count, $0.first, $0.last) } }

  /// Prints "ready". Then waits for `most` messages, or until no message has followed another one
  /// for 0.5 s.
  func wait(for most: Int) async throws {
    say("ready")
    while count < most, count == 0 || now() - last < 500_000_000 { try await Task.sleep(for: .milliseconds(1)) }
  }
}

func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
func rateOf(_ count: Int, _ begin: Int64, _ end: Int64) -> String {
  "rate \(Int64(count) * 1_000_000_000 / (end - begin))"
}
func percentiles(_ times: [Int64]) -> String {
  let sorted = times.sorted()
  return "p50 \(sorted[sorted.count / 2] / 1_000) p99 \(sorted[sorted.count * 99 / 100] / 1_000)"
}

func run<Payload>(_ row: String, _ kind: Kind<Payload>, _ address: String, _ count: Int) async throws -> String {
  if row == "memory" {
    let bus = InMemoryTransport()
    let event = RemoteEvent("bench", over: bus, codec: kind.codec)
    let arrivals = Arrivals()
    event.addHandler { payload in arrivals.add(kind.sent(payload), at: now()) }
    try await event.listen(as: "one")
    let begin = now()
    for _ in 0..<count { try await event.publish(kind.make(0)) }
    while arrivals.count < count { await Task.yield() }
    return rateOf(count, begin, arrivals.last)
  }
  if row == "encode" || row == "decode" {
    let payload = kind.make(0)
    let body = try kind.encode(payload)
    let begin = now()
    for _ in 0..<count { if row == "encode" { _ = try kind.encode(payload) } else { try kind.decode(body) } }
    return rateOf(count, begin, now())
  }
  let nats = try await NATS.connect(address, publishTimeout: .seconds(30))
  let plain = RemoteEvent("bench.plain", over: nats.plain, codec: kind.codec)
  let delay = RemoteEvent("bench.delay", over: nats.plain, codec: kind.codec)
  let arrivals = Arrivals()
  let begin = now()
  switch row {
  case "publish", "send":
    for _ in 0..<count { try await plain.publish(kind.make(0)) }
    let end = now()
    await nats.close()
    return rateOf(count, begin, end)
  case "hear":
    plain.addHandler { payload in arrivals.add(0, at: now()) }
    try await plain.listen(inFlight: 4_096)
    try await arrivals.wait(for: count)
    return arrivals.rate
  case "delay-send":
    for _ in 0..<count {
      try await delay.publish(kind.make(now()))
      usleep(1_000)
    }
    await nats.close()
    return ""
  case "delay":
    delay.addHandler { payload in arrivals.add(kind.sent(payload), at: now()) }
    try await delay.listen()
    try await arrivals.wait(for: count)
    return arrivals.delays
  default: break
  }
  let stream = try await nats.stream("SWIFT", subjects: ["swift.>"])
  let one = RemoteEvent("swift.one", over: stream, codec: kind.codec)
  let many = RemoteEvent("swift.many-\(Payload.self is Item.Type ? "json" : "bytes")", over: stream, codec: kind.codec)
  switch row {
  case "store":
    var times: [Int64] = []
    for _ in 0..<count {
      let sent = now()
      try await one.publish(kind.make(0))
      times.append(now() - sent)
    }
    return percentiles(times)
  case "store-many":
    let begin = now()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<512 {
        group.addTask { for _ in 0..<(count / 512) { try await many.publish(kind.make(0)) } }
      }
      try await group.waitForAll()
    }
    return rateOf(count / 512 * 512, begin, now())
  case "consume":  // consumes the messages that the row store-many has stored
    many.addHandler { payload in arrivals.add(0, at: now()) }
    try await many.listen(as: "one", startingAt: .first, inFlight: 1_024)
    try await arrivals.wait(for: count / 512 * 512)
    return arrivals.rate
  default: fatalError("expected a row, got \(row)")
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 5, let count = Int(arguments[4]) else {
  fatalError("expected: measure ROW CODEC ADDRESS COUNT")
}
let result =
  arguments[2] == "json"
  ? try await run(arguments[1], json, arguments[3], count) : try await run(arguments[1], bytes, arguments[3], count)
say(result)
