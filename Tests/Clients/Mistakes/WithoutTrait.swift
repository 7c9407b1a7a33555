// swift-format-ignore-file
// The engine NATS is a trait of the package, which has to be asked for.
// error in: Plain PlainApproachable OnMain OnMainApproachable Swift5 Swift5OnMainApproachable
import EventingNATS

func connect() async throws {
  #if !MENDED
    _ = try await NATS.connect("nats://bus:4222")  // 'NATS' is unavailable: the engine NATS is a trait: .package(url: …, from: …, traits: ["NATS"])
  #endif
}
