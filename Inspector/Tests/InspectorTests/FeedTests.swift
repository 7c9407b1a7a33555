import InspectorClient
import Testing

@testable import InspectorPage

@Suite struct FeedTests {
  private func update(_ feed: Feed, _ n: Int, sequence: Int, padding: Int = 0) throws {
    let text =
      #"{"push":"update","n":\#(n),"t":\#(n * 250_000_000),"whole":\#(n == 1),"parts":{"events":[{"id":1,"sequence":\#(sequence),"pad":"\#(String(repeating: "x", count: padding))"}]},"gone":{}}"#
    let line = try JSONSlice(Array(text.utf8))
    feed.updated(line.members ?? [:], line)
  }

  @Test func aReaderBeginsWithEverythingAndThenGetsWhatIsNew() async throws {
    let feed = Feed()
    try update(feed, 1, sequence: 5)
    try update(feed, 2, sequence: 6)
    let reader = feed.addReader()
    let first = String(decoding: try #require(await feed.next(reader)), as: UTF8.self)
    #expect(first.contains(#""sequence":6"#) && !first.contains(#""sequence":5"#) && first.contains("event: history"))
    try update(feed, 3, sequence: 7)
    let second = String(decoding: try #require(await feed.next(reader)), as: UTF8.self)
    #expect(second.contains(#""n":3"#) && !second.contains("history"))
  }

  /// A page opens between two lines of one update. The second line must not make the page forget
  /// the rows of the first.
  @Test func aReaderKnowsOfWhichUpdateFurtherLinesMayCome() async throws {
    let feed = Feed()
    let reader = feed.addReader()
    #expect(String(decoding: try #require(await feed.next(reader)), as: UTF8.self).contains(#""n":0,"upTo":null,"#))
    try update(feed, 7, sequence: 5)
    let late = feed.addReader()
    #expect(String(decoding: try #require(await feed.next(late)), as: UTF8.self).contains(#""n":0,"upTo":7,"#))
  }

  @Test func aReaderThatIsSlowGetsTheNewestInsteadOfAll() async throws {
    let feed = Feed()
    let reader = feed.addReader()
    try update(feed, 1, sequence: 1)
    _ = await feed.next(reader)
    for n in 2...40 { try update(feed, n, sequence: n, padding: 300_000) }
    let bytes = try #require(await feed.next(reader))
    #expect(bytes.count < Feed.most)
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.contains(#""whole":true"#) && text.contains(#""sequence":40"#) && !text.contains(#""sequence":39"#))
  }

  @Test func aReaderThatWaitsIsWokenByTheEnd() async throws {
    let feed = Feed()
    let reader = feed.addReader()
    _ = await feed.next(reader)
    let waiting = Task { await feed.next(reader) }
    feed.end()
    #expect(await waiting.value == nil)
    #expect(await feed.next(reader) == nil)
  }

  @Test func aReaderThatIsCancelledIsForgotten() async throws {
    let feed = Feed()
    let reader = feed.addReader()
    _ = await feed.next(reader)
    let waiting = Task { await feed.next(reader) }
    waiting.cancel()
    #expect(await waiting.value == nil)
    #expect(feed.readerCount == 0)
  }
}
