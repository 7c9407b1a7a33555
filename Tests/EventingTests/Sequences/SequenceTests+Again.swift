import Eventing
import Testing

// A sequence of which the only iterator has gone before its end goes on with the next one.
extension SequenceTests {
  @Test func aSecondFirstGoesOn() async {
    let event = Event<Int>()
    let lines = event.payloads()
    for line in 1...4 { event.post(line) }
    #expect(await lines.first { _ in true } == 1)
    event.post(5)
    #expect(await lines.first { $0 > 2 } == 3)
    event.finish()
    var left: [Int] = []
    for await line in lines { left.append(line) }
    #expect(left == [4, 5])
    #expect(await lines.first { _ in true } == nil)
  }

  @Test(arguments: [Buffering.unbounded, .oldest(8), .newest(8)])
  func aLoopAfterABreakGoesOn(buffering: Buffering) async {
    let event = Event<Int>()
    let lines = event.payloads(buffering: buffering)
    for line in 1...4 { event.post(line) }
    var seen: [Int] = []
    for await line in lines {
      seen.append(line)
      if line == 2 { break }
    }
    for line in 5...6 { event.post(line) }
    #expect(event.handlerCount == 1)
    for await line in lines {
      seen.append(line)
      if line == 4 { break }
    }
    for await line in lines {
      seen.append(line)
      if line == 6 { break }
    }
    #expect(seen == [1, 2, 3, 4, 5, 6])
    withExtendedLifetime(lines) {}
  }

  @Test func aSequenceWhoseLoopWasCancelledHasEnded() async {
    let event = Event<Int>()
    let lines = event.payloads()
    let loop = Task { for await _ in lines {} }
    loop.cancel()
    await loop.value
    #expect(event.handlerCount == 0)
    event.post(1)
    #expect(await lines.first { _ in true } == nil)
  }

  @Test func aSequenceThatSuspendsSendersEndsWithItsLastLoop() async {
    let event = Event<Int>()
    let lines = event.payloads(buffering: .suspendingSender(1))
    event.post(1)
    let second = Task { await event.send(2) }
    while await event.handlers().first?.waitingCount != 2 { await Task.yield() }
    #expect(await lines.first { _ in true } == 1)
    _ = await second.value
    #expect(event.handlerCount == 0)
    #expect(await event.send(3).delivered == 0)
    withExtendedLifetime(lines) {}
  }
}
