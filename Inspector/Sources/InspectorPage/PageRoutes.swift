import FlyingFox
import Foundation
import InspectorClient

/// The answers to the HTTP requests of the page.
struct PageRoutes: Sendable {
  let access: Access
  let link: AppLink
  let feed: Feed
  /// For each path, the media type and the content of a file of the page.
  private let files: [String: (type: String, data: Data)]

  init(access: Access, link: AppLink, feed: Feed) throws {
    (self.access, self.link, self.feed) = (access, link, feed)
    let folder = Bundle.module.bundleURL.appendingPathComponent("Page")
    let types = ["html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"]
    var files: [String: (type: String, data: Data)] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let url = folder.appendingPathComponent(name)
      guard let type = types[url.pathExtension] else { continue }
      files[name == "index.html" ? "/" : "/" + name] = ("\(type); charset=utf-8", try Data(contentsOf: url))
    }
    self.files = files
  }

  /// The headers of every answer. No header permits a page of another origin to read the answer.
  private static let headers: [HTTPHeader: String] = [
    HTTPHeader("Content-Security-Policy"):
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
      + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    HTTPHeader("X-Content-Type-Options"): "nosniff",
    HTTPHeader("X-Frame-Options"): "DENY",
    HTTPHeader("Referrer-Policy"): "no-referrer",
    HTTPHeader("Cross-Origin-Opener-Policy"): "same-origin",
    HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
    .cacheControl: "no-store",
  ]

  private func response(_ status: HTTPStatusCode, _ type: String? = nil, _ data: Data = Data()) -> HTTPResponse {
    var headers = Self.headers
    headers[.contentType] = type
    return HTTPResponse(statusCode: status, headers: HTTPHeaders(headers), body: data)
  }

  private func json(_ text: String, _ status: HTTPStatusCode = .ok) -> HTTPResponse {
    response(status, "application/json", Data(text.utf8))
  }

  /// Answers a request.
  func answer(_ request: HTTPRequest) async -> HTTPResponse {
    let (reads, posts) = (request.method == .GET, request.method == .POST)
    let claim = Access.Claim(
      host: request.headers[.host], origin: request.headers[HTTPHeader("Origin")],
      site: request.headers[HTTPHeader("Sec-Fetch-Site")], authorization: request.headers[.authorization],
      changes: !reads, isPublic: reads && files[request.path] != nil)
    switch access.judge(claim) {
    case .misdirected: return response(.misdirectedRequest)
    case .forbidden: return response(.forbidden)
    case .unauthorized: return response(.unauthorized)
    case .allowed: break
    }
    guard reads || posts else { return response(.methodNotAllowed) }
    if reads, let file = files[request.path] { return response(.ok, file.type, file.data) }
    if reads, request.path == "/stream" {
      var headers = Self.headers
      headers[.contentType] = "text/event-stream"
      return HTTPResponse(
        statusCode: .ok, headers: HTTPHeaders(headers), body: HTTPBodySequence(from: FeedSequence(feed)))
    }
    guard posts, let verb = PageVerb(rawValue: String(request.path.dropFirst())) else { return response(.notFound) }
    guard let body = try? await request.bodyData, let keys = try? JSONSlice([UInt8](body)).members else {
      return response(.badRequest)
    }
    guard let session = link.session else {
      return json(#"{"error":"The app is not connected."}"#, .serviceUnavailable)
    }
    do { return try await json(verb.answer(keys, session, feed)) } catch let error as LinkError {
      return json(#"{"error":\#(error.description.asJSON)}"#, .conflict)
    } catch {
      return response(.badRequest)
    }
  }
}

/// The requests of a page that are passed on to the app.
enum PageVerb: String {
  case traceStart = "trace/start"
  case traceStop = "trace/stop"
  case lock, unlock, perform

  private struct BadRequest: Error {}

  /// The largest number of seconds that a page can request for a trace.
  private static let mostSeconds = 60

  /// Passes the request to the app, and returns the answer to the page as JSON.
  func answer(_ keys: [String: JSONSlice], _ session: AppSession, _ feed: Feed) async throws -> String {
    switch self {
    case .traceStart:
      guard let events = keys["events"]?.elements?.compactMap(\.int), !events.isEmpty else { throw BadRequest() }
      // A page that was closed, or whose computer sleeps, does not stop its trace. So each trace
      // has a time limit.
      let seconds = min(max(keys["seconds"]?.int ?? Self.mostSeconds, 1), Self.mostSeconds)
      let (trace, megabytes) = try await feed.traces.start(
        session, events: events, megabytes: keys["megabytes"]?.int ?? 4, limit: .seconds(seconds) + feed.traceGrace)
      return #"{"trace":\#(trace),"megabytes":\#(megabytes)}"#
    case .traceStop:
      guard let trace = keys["trace"]?.int else { throw BadRequest() }
      let events = keys["events"]?.elements?.compactMap(\.int) ?? []
      return try await feed.traces.stop(session, trace: trace, events: feed.events(events)).text
    case .lock, .unlock:
      guard session.control else {
        throw LinkError("Locking needs --control here, and the app must allow it.", code: "control")
      }
      guard let event = keys["event"]?.int else { throw BadRequest() }
      var more = [("event", "\(event)"), ("handler", keys["handler"]?.int.map(String.init) ?? "null")]
      if self == .lock {
        let holding = keys["holding"]
        let isWord = ["nothing", "latest"].contains(holding?.string ?? "")
        guard isWord || (holding?.int ?? 0) > 0 else { throw BadRequest() }
        more.append(("holding", holding?.int.map(String.init) ?? holding!.string!.asJSON))
      }
      let answer = try await session.request(rawValue, more)
      return #"{"found":\#(answer.last?.members?["found"]?.bool ?? false)}"#
    case .perform:
      guard session.control else {
        throw LinkError("This needs --control here, and the app must allow it.", code: "control")
      }
      // Another process has other tables with the same ids.
      guard keys["epoch"]?.int == session.hello.epoch else {
        throw LinkError("The app was started again.", code: "table")
      }
      guard let table = keys["table"]?.int, let latest = keys["latest"]?.int, let action = keys["action"]?.string,
        let rows = keys["rows"]?.elements?.compactMap(\.int), !rows.isEmpty
      else { throw BadRequest() }
      let answer = try await session.request(
        rawValue, [("table", "\(table)"), ("latest", "\(latest)"), ("action", action.asJSON), ("rows", "\(rows)")],
        within: .seconds(3_600))
      return #"{"count":\#(answer.last?.members?["count"]?.int ?? 0)}"#
    }
  }
}
