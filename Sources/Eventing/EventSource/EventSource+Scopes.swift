extension EventSource {
  /// Has a handler for the length of `body`: it is removed on every way out of it.
  ///
  /// A call that another thread decided just before may still be running when this returns; ``Event/quiesce()`` waits for it.
  @discardableResult public nonisolated(nonsending) func withHandler<Result, Failure: Error>(
    _ handler: Handler<Payload>, _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let token = attach(handler)
    defer { remove(token) }
    return try await body()
  }

  /// Has a synchronous handler for the length of `body`.
  @discardableResult public nonisolated(nonsending) func withHandler<Result, Failure: Error>(
    _ handler: @escaping @Sendable (Payload) throws -> Void,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await withHandler(Handler(handler), body)
  }

  /// Has an asynchronous handler for the length of `body`.
  @discardableResult public nonisolated(nonsending) func withHandler<Result, Failure: Error>(
    _ handler: @escaping @Sendable (Payload) async throws -> Void,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await withHandler(Handler(handler), body)
  }
}
