import Eventing
import Testing

/// Runs the calls and the programs of the guide "From AsyncStream and AsyncAlgorithms".
@Suite(.fewAtATime) struct FromAsyncStreamGuideTests {
  @Test func sending() async throws {
    let lines = Event<String>("lines")
    let (noted, line) = (Recorder<String>(), "tea")
    @Sendable func note(_ line: String) { noted.record(line) }
    lines.addHandler { line async in note(line) }

    lines.post(line)
    await lines.send(line)
    let dropped = await lines.send(line).dropped
    #expect(dropped == 0 && noted.values == ["tea", "tea", "tea"])
    lines.finish()
    let isOver = lines.isFinished
    #expect(isOver)
  }

  @Test func onePayload() async throws {
    let lines = Event<String>("lines")
    let found = Recorder<String>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        let empty = try await lines.next { line in line.isEmpty }
        found.record("empty \(empty)")
      }
      #expect(await eventually { lines.handlerCount == 1 })
      lines.post("")
      try await group.waitForAll()
    }
    #expect(found.values == ["empty "])
  }

  @Test func loops() async {
    let lines = Event<String>("lines")
    let noted = Recorder<String>()
    @Sendable func note(_ line: String) { noted.record(line) }
    let loops = [
      Task {
        for await line in lines.payloads() { note(line) }
      },
      Task {
        for await line in lines.payloads(buffering: .newest(16)) { note(line) }
      },
      Task {
        for await line in lines.payloads(buffering: .oldest(16)) { note(line) }
      },
      Task {
        for await line in lines.payloads(buffering: .suspendingSender(1)) { note(line) }
      },
      Task {
        for await batch in lines.batches(of: 100).payloads(buffering: .newest(1_000)) { note("\(batch.count)") }
      },
    ]
    #expect(await eventually { lines.handlerCount == 5 })
    await lines.send("tea")
    lines.finish()
    for loop in loops { await loop.value }
    #expect(noted.values.sorted() == ["1", "tea", "tea", "tea", "tea"])
  }

  @Test func operators() async {
    let (lines, web, phone) = (Event<String>("lines"), Event<String>("web"), Event<String>("phone"))
    let (first, last, noted) = (Observed("Ada"), Observed("King"), Recorder<String>())
    @Sendable func note(_ line: String) { noted.record(line) }

    web.forward(to: lines)
    phone.forward(to: lines)
    web.merge(phone).addHandler { line in note(line) }
    first.combineLatest(last).addHandler { first, last in note(first + last) }
    lines.removeDuplicates().addHandler { line in note(line) }
    lines.addHandler(.debounced(for: .milliseconds(300))) { line in note(line) }
    lines.addHandler(.throttled(every: .milliseconds(100))) { line in note(line) }
    lines.batches(of: 100, within: .milliseconds(50)).addHandler { batch in note("\(batch.count)") }
    await web.send("tea")
    #expect(noted.values.sorted() == ["1", "AdaKing", "tea", "tea", "tea", "tea"])
    await phone.send("tea")
    #expect(noted.count == 10)
    withExtendedLifetime(lines) {}
  }

  @Test func aStreamBecomesAnEvent() async {
    let (lines, noted) = (Event<String>("lines"), Recorder<String>())
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    lines.addHandler { noted.record($0) }

    let reading = Task {
      for await line in stream { lines.post(line) }
      lines.finish()
    }

    continuation.yield("tea")
    continuation.finish()
    await reading.value
    #expect(noted.values == ["tea"] && lines.isFinished)
  }

  // swift-format-ignore
  @Test func before() async {
    let output = Recorder<String>()
    @Sendable func print(_ items: String...) { output.record(items.joined(separator: " ")) }

    actor Log {
      private var continuations: [Int: AsyncStream<String>.Continuation] = [:]
      private var next = 0

      func lines() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        next += 1
        let number = next
        continuations[number] = continuation
        continuation.onTermination = { _ in Task { await self.leave(number) } }
        return stream
      }
      private func leave(_ number: Int) { continuations[number] = nil }

      func write(_ line: String) {
        for continuation in continuations.values { continuation.yield(line) }
      }
      func close() {
        for continuation in continuations.values { continuation.finish() }
      }
    }

    let log = Log()
    let lines = await log.lines()
    let reader = Task {
      for await line in lines { print("reader:", line) }
    }
    await log.write("one")
    await log.write("two")
    await log.close()
    await reader.value

    #expect(output.values == ["reader: one", "reader: two"])
  }

  // swift-format-ignore
  @Test func after() async {
    let output = Recorder<String>()
    @Sendable func print(_ items: String...) { output.record(items.joined(separator: " ")) }

    final class Log: Sendable {
      private let written = Event<String>("written")

      var lines: some EventSource<String> { written.source }
      func write(_ line: String) { written.post(line) }
      func close() { written.finish() }
    }

    let log = Log()
    let lines = log.lines.payloads()
    let reader = Task {
      for await line in lines { print("reader:", line) }
    }
    log.write("one")
    log.write("two")
    log.close()
    await reader.value

    #expect(output.values == ["reader: one", "reader: two"])
    withExtendedLifetime(log) {}
  }

  @Test func everyLineIsRunHere() throws {
    try GuideCheck.run("FromAsyncStream.md", "FromAsyncStreamGuideTests", examples: 3, calls: 20)
  }
}
