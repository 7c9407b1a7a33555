public import EventingNATS
import Foundation

/// An order, as it is encoded in messages.
public struct OrderPlaced: Codable, Sendable {
  public var number: Int
  public var cents: Int

  public init(number: Int, cents: Int) { (self.number, self.cents) = (number, cents) }
}

/// A bill, as it is encoded in messages.
public struct OrderBilled: Codable, Sendable {
  public var number: Int
  public var by: String

  public init(number: Int, by: String) { (self.number, self.by) = (number, by) }
}

/// The connection of one service to NATS, and the remote events that the three services share.
public struct Shop: Sendable {
  public let nats: NATS
  public let placed: RemoteEvent<OrderPlaced>
  public let billed: RemoteEvent<OrderBilled>
  /// The orders that could not be billed.
  public let unbilled: RemoteEvent<OrderPlaced>

  /// Connects to the server that the environment variable `NATS` names, and opens the stream.
  public init() async throws {
    nats = try await NATS.connect(ProcessInfo.processInfo.environment["NATS"] ?? "nats://127.0.0.1:4222")
    let stream = try await nats.stream("SHOP", subjects: ["orders.>"])
    placed = RemoteEvent("orders.placed", over: stream)
    billed = RemoteEvent("orders.billed", over: stream)
    unbilled = RemoteEvent("orders.unbilled", over: stream)
    nats.incidents.addHandler { incident in say("incident: \(incident)") }
  }
}

/// Prints a line at once, to a terminal or a file.
public func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

/// Returns when Control-C or SIGTERM asks the process to end.
public func untilTerminated() async {
  let sources = [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)
    return DispatchSource.makeSignalSource(signal: number)
  }
  let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
  for source in sources {
    source.setEventHandler { continuation.yield() }
    source.resume()
  }
  for await _ in signals { break }
}
