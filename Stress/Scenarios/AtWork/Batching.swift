import Eventing

/// Sends to handlers that take batches. Each occurrence is in exactly one batch, and batches keep
/// the order. No batch is empty or too large (guarantee H5 of PROOF.md).
struct Batching: Scenario {
  static let name = "batches"
  static let summary = "batches in order, never empty or too large, each occurrence in one"

  func round(_ context: ScenarioContext) async {
    let trial = Trial(context)
    add(to: trial, batchesOf: 7, within: nil)
    add(to: trial, batchesOf: 5, within: .microseconds(300))
    await context.race(steps: 120) { worker in
      if worker.random.oneIn(4) { worker.submit(to: trial.event) } else { worker.post(to: trial.event) }
    } inTask: { worker in
      if worker.random.oneIn(6) { await worker.send(to: trial.event) } else { worker.post(to: trial.event) }
    }
    await trial.finish()
  }

  private func add(to trial: Trial, batchesOf count: Int, within limit: Duration?) {
    let (handlerLog, canary) = (HandlerLog(.inOrder, trial.checks), Canary(.handler))
    handlerLog.neverThrows = true  // if a call threw, all occurrences of its batch would count as failed
    handlerLog.fate = trial.context.makeFate()
    handlerLog.adding = .open
    handlerLog.token = trial.event.batches(of: count, within: limit).addHandler { batch async throws in
      handlerLog.checks.expect(
        .g13, (1...count).contains(batch.count), "\(handlerLog) got a batch of \(batch.count), not 1 to \(count)")
      for payload in batch { try await handlerLog.call(payload, canary, pausing: false) }
    }
    handlerLog.adding.finish()
    trial.extraHandlerLogs.append(handlerLog)
  }
}
