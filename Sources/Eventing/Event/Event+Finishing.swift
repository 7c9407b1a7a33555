extension Event {
  /// Ends the event: delivers everything sent before, then releases the handlers.
  ///
  /// Sends after this reach no handler. Handlers that are added after this end at once. A handler
  /// on a lane ends after the calls that are queued there. Sequences end, and a task that waits in
  /// ``EventSource/next(within:clock:where:)`` gets an ``EventingError``. Use this for an event
  /// that is never released, such as a `static` one.
  ///
  /// **Concurrency.** Callable from any thread or task. It does not wait for handlers:
  /// ``quiesce()`` does. Further calls have no effect.
  ///
  /// **Inside a handler,** the current occurrence still reaches every handler.
  ///
  /// - Complexity: O(handlers).
  public nonisolated func finish() { core.finish() }
}
