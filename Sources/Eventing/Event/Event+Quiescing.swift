extension Event {
  /// Waits until no call for an occurrence sent before is running or queued, on any lane.
  ///
  /// Calls of handlers that have been removed count, too. Occurrences that a lock holds do not, nor
  /// do calls that wait on a lane which such a lock has paused, nor loops over
  /// ``EventSource/payloads(named:buffering:)``.
  ///
  /// `quiesce` covers this event only. What this event forwarded has entered the target, or is
  /// queued there, but its handlers may still be running: call `quiesce()` of the target next.
  /// ``send(_:from:)`` waits for the handlers of targets, too.
  ///
  /// The handlers of ``deadLetters`` count, too, for letters about occurrences sent before.
  ///
  /// **Inside a handler,** `quiesce` waits neither for that handler nor for a handler that waits
  /// for it. Cancellation of the task does not shorten the wait.
  ///
  /// - Complexity: O(handlers), however many other waits the calling handler has.
  public nonisolated(nonsending) func quiesce() async {
    await core.quiesce()
    await core.quiesceDeadLetters()
  }
}

extension EventCore {
  /// Waits until no call for an occurrence sent before is running or queued.
  nonisolated(nonsending) func quiesce() async {
    let completion = Completion(.ticket)
    if WaitingSends.isWatched { completion.note(.quiesce, at: anchorReference.load()) }
    WaitingSends.expect(completion, at: anchorReference.load())
    enqueue(.barrier(completion))
    _ = await completion.wait()
  }

  /// Waits until no call of a handler of ``Event/deadLetters`` is running or queued for a letter
  /// that was posted before this call.
  nonisolated(nonsending) func quiesceDeadLetters() async {
    guard let letters = anchorReference.load()?.deadLetters?.core else { return }
    await letters.quiesce()
    await letters.quiesceDeadLetters()
  }
}
