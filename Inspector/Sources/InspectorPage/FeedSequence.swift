import FlyingFox
import FlyingSocks

/// The messages for one page as the body of a response that does not end.
struct FeedSequence: AsyncBufferedSequence {
  typealias Element = UInt8
  private let reader: Reader

  init(_ feed: Feed) { reader = Reader(feed) }

  /// A reader of the feed. When the page's connection ends, the last reference to the reader is
  /// released, and the reader removes itself from the feed.
  fileprivate final class Reader: Sendable {
    let feed: Feed
    let id: Int

    init(_ feed: Feed) { (self.feed, id) = (feed, feed.addReader()) }

    deinit { feed.removeReader(id) }
  }

  struct AsyncIterator: AsyncBufferedIteratorProtocol {
    fileprivate let reader: Reader

    mutating func next() async throws -> UInt8? { preconditionFailure("a response is read by buffers") }

    mutating func nextBuffer(suggested count: Int) async throws -> [UInt8]? {
      await reader.feed.next(reader.id)
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }
}
