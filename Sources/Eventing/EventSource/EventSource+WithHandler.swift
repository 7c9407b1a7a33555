extension EventSource {
  /// Adds a handler for the length of `body`, and removes it even if `body` throws.
  ///
  /// The handler is added before `body` begins. A call that another thread began just before the
  /// removal may still be running when this returns: ``HandlerRegistry/quiesce()`` waits for it.
  /// `body` runs on the caller's actor. May be awaited inside a handler.
  ///
  /// - Parameters:
  ///   - handler: The handler.
  ///   - body: The work to do meanwhile.
  /// - Returns: The result of `body`.
  /// - Throws: The error that `body` throws. Errors of the handler are in the reports.
  @discardableResult public nonisolated(nonsending) func withHandler<Result, Failure: Error>(
    _ handler: Handler<Payload>, _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let token = add(handler)
    defer { remove(token) }
    return try await body()
  }
}
