import Eventing
import SignpostBridge
import Testing
import os

/// Tests of the observer for Instruments. A stub of `os` records the signposts.
@Suite(.timeLimit(.minutes(5))) struct SignpostTests {
  private struct Refusal: Error {}

  @Test func theBeginAndTheEndOfACallHaveOneIdentifier() {
    let (event, record) = (Event<Int>("orders"), RecordedSignposts())
    let watching = event.observe(with: SignpostObserver(OSSignposter(recordingTo: record)))
    event.addHandler(.named("mail")) { _ in }
    event.addHandler(.named("bills")) { _ in throw Refusal() }
    event.post(1)
    event.post(2)
    let signposts = record.signposts
    #expect(signposts.map(\.kind) == [.begin, .end, .begin, .end, .begin, .end, .begin, .end])
    for begin in stride(from: 0, to: signposts.count, by: 2) { #expect(signposts[begin].id == signposts[begin + 1].id) }
    #expect(Set(signposts.map(\.id)).count == 4)
    #expect(signposts.allSatisfy { $0.name == "handler" })
    #expect(signposts.first?.message.contains("orders") == true && signposts.first?.message.contains("mail") == true)
    #expect(signposts.dropFirst().first?.message == "returned")
    #expect(signposts.last?.message == "threw Refusal: <private>")
    watching.end()
  }

  @Test func callsOfAHandlerThatOverlapHaveTwoIdentifiers() async {
    let (event, record, isOver) = (Event<Int>(), RecordedSignposts(), Gate())
    let watching = event.observe(with: SignpostObserver(OSSignposter(recordingTo: record)))
    event.addHandler(on: .concurrent(limit: 2)) { _ in await isOver.opened() }
    event.post(1)
    event.post(2)
    #expect(await eventually { record.signposts.count == 2 })
    isOver.open()
    await event.quiesce()
    #expect(await eventually { record.signposts.count == 4 })
    let begun = record.signposts.filter { $0.kind == .begin }.map(\.id)
    let ended = record.signposts.filter { $0.kind == .end }.map(\.id)
    #expect(begun.count == 2 && Set(begun).count == 2)
    #expect(Set(ended) == Set(begun))
    watching.end()
  }

  @Test func aSkippedOccurrenceIsAPoint() {
    let (event, record) = (Event<Int>(), RecordedSignposts())
    let watching = event.observe(with: SignpostObserver(OSSignposter(recordingTo: record)))
    let token = event.addHandler { _ in }
    event.lock(token)
    event.post(1)
    #expect(record.signposts.map(\.name) == ["skipped"])
    watching.end()
  }
}
