import Synchronization

struct PacedOccurrence: PayloadHeader {
  let sequence: UInt64
  private(set) var completion: Completion?
  /// `nil` for most posts, which makes this struct cheap to copy and to destroy.
  private let details: Details?

  private final class Details: Sendable {
    let instant: StableInstant?
    weak let sender: (any AnyObject & Sendable)?
    let path: ForwardingPath?
    let isLateSend: Bool

    init(_ delivery: borrowing Delivery) {
      (instant, path, isLateSend) = (delivery.instant, delivery.path, delivery.isLateSend)
      sender = delivery.sender
    }
  }

  init(_ delivery: borrowing Delivery, _ completion: Completion?) {
    sequence = delivery.sequence
    self.completion = completion
    let isPlain = delivery.instant == nil && delivery.sender == nil && delivery.path == nil && !delivery.isLateSend
    details = isPlain ? nil : Details(delivery)
  }

  init(_ sequence: UInt64, _ completion: Completion?) {
    self.sequence = sequence
    self.completion = completion
    details = nil
  }

  var withoutWaiting: PacedOccurrence {
    var copy = self
    copy.completion = completion?.withoutWaiting
    return copy
  }

  func delivery(_ payload: BorrowedPayload?) -> Delivery {
    Delivery(
      payload, paced: sequence, completion, from: details?.sender, along: details?.path, at: details?.instant,
      isLateSend: details?.isLateSend == true)
  }
}

extension Delivery {
  var outcomeOfOneHandler: Outcome? {
    if report.delivered > 0 { return .delivered }
    if report.held > 0 { return .held }
    if let failure = report.failures.first { return .failed(failure) }
    return report.skipped > 0 ? .skipped : nil
  }
}
