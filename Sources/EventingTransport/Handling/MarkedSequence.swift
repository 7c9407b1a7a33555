import Eventing

/// A sequence for whose loops the verdicts of messages wait: an element is handled when the loop
/// asks for the one after it.
struct MarkedSequence<Element: Sendable, Base: EventSequence<Marked<Element>>>: EventSequence {
  typealias Failure = Never
  let base: Base

  func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }
  func batches(of count: Int) -> Batches { Batches(base: base.batches(of: count)) }

  struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    var last: LoopMark?

    mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      last?.handled()
      last = nil
      guard let marked = await base.next(isolation: actor) else { return nil }
      last = marked.mark
      return marked.element
    }
  }

  struct Batches: AsyncSequence, Sendable {
    typealias Element = [MarkedSequence.Element]
    typealias Failure = Never
    let base: Base.Batches

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
      var base: Base.Batches.AsyncIterator
      var last: [LoopMark] = []

      mutating func next(isolation actor: isolated (any Actor)?) async -> [MarkedSequence.Element]? {
        for mark in last { mark.handled() }
        last = []
        guard let batch = await base.next(isolation: actor) else { return nil }
        last = batch.map(\.mark)
        return batch.map(\.element)
      }
    }
  }
}
