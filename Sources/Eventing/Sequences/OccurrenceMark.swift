/// The mark of an occurrence in the buffers of one sequence, from which a transport learns what
/// became of the occurrence there.
///
/// Each buffer has a share of the mark, and each loop handles the occurrence by itself. A mark that
/// is released before ``handled()`` is called for each share tells that a loop has not handled the
/// occurrence, for instance because a loop ended while it worked on the occurrence, or no buffer
/// had room. So no mark is released under a mutex.
@usableFromInline package protocol OccurrenceMark: AnyObject, Sendable {
  /// Notes that one more buffer has the mark. Called under the mutex of a sequence.
  func share()
  /// Notes that a loop that received the occurrence asks for the next element, or that its buffer
  /// needs no loop any more. Called once for each share.
  func handled()
}

/// The marks of the payloads that wait in a buffer, in their order.
///
/// The queue lies beside the payloads, and stays empty until the first mark comes. So without a
/// transport, each payload costs one comparison. A value without synchronization; its owner guards
/// it.
struct MarkQueue: Sendable {
  private var marks = Deque<(any OccurrenceMark)?>()
  /// Whether each payload that is appended gets an element of `marks`, also a payload without a
  /// mark. Set when the first mark comes.
  private(set) var isOn = false

  /// Appends the mark of a payload, or `nil` for a payload without one. Stores nothing until the
  /// first mark comes. Then first appends a `nil` for each payload that waits already, so that each
  /// mark has the position of its payload.
  ///
  /// - Parameters:
  ///   - mark: The mark; `nil` for a payload without one.
  ///   - count: The number of payloads that wait before this one.
  @inline(__always) mutating func append(_ mark: (any OccurrenceMark)?, after count: Int) {
    if isOn || mark != nil { appendPlace(mark, after: count) }
  }

  private mutating func appendPlace(_ mark: (any OccurrenceMark)?, after count: Int) {
    if !isOn { for _ in 0..<count { marks.append(nil) } }
    isOn = true
    marks.append(mark)
  }

  /// Returns a copy that shares no memory with the original. A plain copy of the array would share
  /// the memory until one of the two changes. An iterator changes its marks without the mutex. That
  /// would be safe with shared memory, too, thanks to the reference count. But the thread sanitizer
  /// does not see reference counts, and would report a race. O(n)
  ///
  /// The copy has a share of each mark.
  func copy() -> MarkQueue {
    var copy = MarkQueue()
    copy.isOn = isOn
    marks.forEach {
      $0?.share()
      copy.marks.append($0)
    }
    return copy
  }

  /// Gives up the shares. The caller holds no mutex.
  func withdraw() { marks.forEach { $0?.handled() } }

  /// Takes out the mark of the first payload. The caller releases the mark after the unlock.
  mutating func popFirst() -> (any OccurrenceMark)? { marks.popFirst() ?? nil }
}

extension Delivery {
  /// Makes the mark of the occurrence for one more sequence; `nil` if no transport brought it.
  func makeMark() -> (any OccurrenceMark)? { completion?.account?.makeMark?() }
}
