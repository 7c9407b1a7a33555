#if !NATS
  /// Unavailable: the package is used without its trait `NATS`.
  @available(*, unavailable, message: "the engine NATS is a trait: .package(url: …, from: …, traits: [\"NATS\"])")
  public struct NATS: Sendable {
    public static func connect(_ servers: String...) async throws -> NATS { fatalError("unavailable") }
  }
#endif
