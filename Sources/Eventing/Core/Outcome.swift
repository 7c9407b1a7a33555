@usableFromInline package enum Outcome: Sendable {
  case delivered
  case skipped
  case dropped
  case held
  case failed(HandlerFailure)

  var isOfCall: Bool {
    switch self {
    case .delivered, .failed: true
    case .skipped, .dropped, .held: false
    }
  }
}

@usableFromInline struct SendResult {
  @usableFromInline let pending: PendingSend?
  @usableFromInline let sequence: UInt64
  @usableFromInline let delivered: Int

  @inlinable @inline(__always) init(pending: PendingSend?, sequence: UInt64 = 0, delivered: Int = 0) {
    self.pending = pending
    self.sequence = sequence
    self.delivered = delivered
  }
}

@usableFromInline final class PendingSend: Sendable {
  private let report: SendReport
  private let completion: Completion?

  init(report: SendReport, completion: Completion?) {
    self.report = report
    self.completion = completion
  }

  init(_ delivery: borrowing Delivery) {
    report = delivery.report
    completion = delivery.completion
    completion?.finishDelivery(report)
  }

  @usableFromInline nonisolated(nonsending) func wait() async -> SendReport {
    if let completion { await completion.wait() } else { report }
  }

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
