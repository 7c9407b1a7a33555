/// The result of the synchronous part of a send.
@usableFromInline struct SendResult {
  /// The send whose report the caller must await; `nil` if the fast path called every handler.
  @usableFromInline let pending: PendingSend?
  /// The sequence number of the occurrence if ``pending`` is `nil`, otherwise 0.
  @usableFromInline let sequence: UInt64
  /// The number of handlers that were called if ``pending`` is `nil`, otherwise 0.
  @usableFromInline let delivered: Int

  @inlinable @inline(__always) init(pending: PendingSend?, sequence: UInt64 = 0, delivered: Int = 0) {
    self.pending = pending
    self.sequence = sequence
    self.delivered = delivered
  }
}

/// A send that took the slow path, or found the event busy.
@usableFromInline final class PendingSend: Sendable {
  /// The report, if there is no completion.
  private let report: SendReport
  private let completion: Completion?

  init(report: SendReport, completion: Completion?) {
    self.report = report
    self.completion = completion
  }

  /// Keeps the report and the completion of a delivery, and tells the completion that the delivery
  /// has ended.
  init(_ tally: borrowing Delivery) {
    report = tally.report
    completion = tally.completion
    completion?.finishDelivery(report)
  }

  /// Waits for outstanding handlers, and returns the report.
  @usableFromInline nonisolated(nonsending) func wait() async -> SendReport {
    if let completion { await completion.wait() } else { report }
  }

  /// Waits for the outstanding handlers of several sends at once. Returns the reports in the order
  /// of the sends.
  nonisolated(nonsending) static func waitForAll(_ sends: [PendingSend]) async -> [SendReport] {
    await withTaskGroup(of: (Int, SendReport).self) { group in
      var reports = sends.map(\.report)
      for (i, send) in sends.enumerated() where send.completion != nil {
        group.addTask { (i, await send.wait()) }
      }
      for await (i, report) in group { reports[i] = report }
      return reports
    }
  }
}
