import Synchronization

/// An occurrence that waits for the pace of a handler.
struct PacedOccurrence: PayloadHeader {
  let sequence: UInt64
  private(set) var completion: Completion?
  /// The sender, the time and the forwarding path of the occurrence, and whether it is a `send`
  /// that a lock held; `nil` if the occurrence has none of these, as is so for most posts. Then
  /// this struct is cheap to copy and to destroy.
  private let details: Details?

  private final class Details: Sendable {
    let instant: StableInstant?
    weak let sender: (any AnyObject & Sendable)?
    let path: ForwardingPath?
    let isLateSend: Bool

    init(_ tally: borrowing Delivery) {
      (instant, path, isLateSend) = (tally.instant, tally.path, tally.isLateSend)
      sender = tally.sender
    }
  }

  init(_ tally: borrowing Delivery, _ completion: Completion?) {
    sequence = tally.sequence
    self.completion = completion
    let isPlain = tally.instant == nil && tally.sender == nil && tally.path == nil && !tally.isLateSend
    details = isPlain ? nil : Details(tally)
  }

  /// Creates the occurrence of a post without sender, instant and path.
  init(_ sequence: UInt64, _ completion: Completion?) {
    self.sequence = sequence
    self.completion = completion
    details = nil
  }

  /// A copy of the occurrence for which nothing waits.
  var withoutWaiting: PacedOccurrence {
    var copy = self
    copy.completion = completion?.withoutWaiting
    return copy
  }

  /// Returns a ``Delivery``, which counts the outcomes of the delivery of this occurrence to
  /// the handler. That delivery begins when the pace lets the occurrence through.
  ///
  /// - Parameter payload: The payload of the event, for a dead letter; `nil` if there will be none.
  func tally(_ payload: BorrowedPayload?) -> Delivery {
    Delivery(
      payload, paced: sequence, completion, from: details?.sender, along: details?.path, at: details?.instant,
      isLateSend: details?.isLateSend == true)
  }
}

extension Delivery {
  /// The outcome of a delivery to one handler; `nil` if the handler's lane reports it.
  var outcomeOfOneHandler: Outcome? {
    if report.delivered > 0 { return .delivered }
    if report.held > 0 { return .held }
    if let failure = report.failures.first { return .failed(failure) }
    return report.skipped > 0 ? .skipped : nil
  }
}
