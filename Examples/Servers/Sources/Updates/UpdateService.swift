public import Eventing
public import Hummingbird
import ServiceLifecycle

/// Publishes updates over HTTP: `POST /updates` publishes one, and `GET /updates` streams all later
/// ones as Server-Sent Events.
///
/// A stream iterates over a sequence of the event's payloads. The stream ends, and with it the
/// sequence, in one of three ways: the client disconnects, the service shuts down, or the event is
/// finished.
public struct UpdateService: Sendable {
  public let updates = Event<String>("updates")

  public init() {}

  /// Returns the service as an application.
  ///
  /// - Parameters:
  ///   - port: The port to listen at; 0 for a free one.
  ///   - onReady: A closure that receives the port when clients can connect.
  public func application(
    port: Int, onReady: @escaping @Sendable (Int) -> Void = { _ in }
  ) -> some ApplicationProtocol {
    let router = Router()
    router.post("updates") { request, _ in try await publish(request) }
    router.get("updates") { request, _ in stream(for: request) }
    return Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in onReady(channel.localAddress?.port ?? port) })
  }

  private func publish(_ request: Request) async throws -> HTTPResponse.Status {
    let text = try await request.body.collect(upTo: 65_536)
    guard !updates.isFinished else { return .serviceUnavailable }
    updates.post(String(buffer: text))
    return .accepted
  }

  private func stream(for request: Request) -> Response {
    // The sequence receives updates from now on. So a client that has received the head of the
    // response misses no later update, unless it reads slowly: only the newest hundred wait for it.
    let payloads = updates.payloads(named: "stream", buffering: .newest(100))
    let body = ResponseBody { writer in
      try await withGracefulShutdownHandler {
        try await request.body.consumeWithCancellationOnInboundClose { _ in
          for await update in payloads { try await writer.write(ByteBuffer(string: serverSentEvent(update))) }
        }
      } onGracefulShutdown: {
        updates.finish()  // all streams end, after the updates that were posted before
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-cache"], body: body)
  }
}

/// Returns a text in the format of Server-Sent Events: a field for each line, then an empty line.
func serverSentEvent(_ text: String) -> String {
  // In this format, a line ends with a line feed, a carriage return, or both. A client reads each
  // line as a field: a name, a colon and a value. So each line of the text becomes a field with the
  // name `data`.
  let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
  return lines.map { "data: \($0)\n" }.joined() + "\n"
}
