/// A sequence of what an event delivers, such as ``EventSource/payloads(named:buffering:)``.
///
/// Its iterators have buffers in which elements wait. So the sequence can also give batches.
public protocol EventSequence<Element>: AsyncSequence, Sendable where Element: Sendable, Failure == Never {
  /// The type of ``batches(of:)``.
  associatedtype Batches: AsyncSequence<[Element], Never> & Sendable

  /// Returns a sequence of arrays: all elements that wait, but not more than `count`.
  ///
  ///     for await batch in orders.payloads(buffering: .newest(1_000)).batches(of: 100) {
  ///       try await database.insert(batch)
  ///     }
  ///
  /// If no element waits, the iterator waits for one, and never for a second one to fill the batch.
  /// So a slow loop gets large batches, and a fast one small ones. Together, the batches have every
  /// element, in order. All else is as for the sequence itself: which elements its iterators
  /// receive, when they end, and what their buffers drop.
  ///
  /// If the task is cancelled, or the handler of the sequence is removed, elements that the loop
  /// has not received are lost with the buffer. A batch that the iterator has begun to take is
  /// still returned.
  ///
  /// A sequence that was transformed, such as by `map`, has no batches: make the batches first.
  ///
  /// - Parameter count: The largest number of elements in a batch. A number below 1 counts as 1.
  /// - Returns: A sequence of arrays that are never empty.
  /// - Complexity: O(1) for each element.
  func batches(of count: Int) -> Batches
}
