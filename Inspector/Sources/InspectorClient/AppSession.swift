import Foundation
import Synchronization

/// One connection to an app: the requests to the app, its answers, and the lines that it pushes.
public final class AppSession: Sendable {
  /// The first line of the app, which describes the app.
  public let hello: Hello
  /// Whether both sides allow locking and unlocking.
  public let control: Bool
  private let socket: LineSocket
  private let state: Mutex<State>

  private struct State {
    var lastID = 1
    var waiting: [Int: Waiting] = [:]
    var ended = false
  }

  private struct Waiting {
    let continuation: CheckedContinuation<[JSONSlice], any Error>
    var lines: [JSONSlice] = []
  }

  /// Reads the app's first line, says hello to the app, and waits for its answer.
  ///
  /// - Parameters:
  ///   - socket: The connection to the app.
  ///   - control: Whether locking and unlocking are wanted.
  ///   - buffer: Receives the bytes that were read beyond the app's answer.
  /// - Throws: `LinkError` if the app refuses, ends, sends a wrong line, or sends nothing for 5 s.
  init(_ socket: LineSocket, control: Bool, buffer: inout LineBuffer) throws(LinkError) {
    self.socket = socket
    socket.limitReading(to: 5)
    hello = try Hello(Self.line(of: socket, &buffer))
    try socket.write(#"{"id":1,"do":"hello","protocol":1,"client":"inspector","control":\#(control)}"#)
    let answer = try Self.line(of: socket, &buffer).members ?? [:]
    guard answer["ok"]?.bool == true else { throw LinkError(of: answer["error"]) }
    self.control = answer["control"]?.bool ?? false
    state = Mutex(State())
    socket.limitReading(to: 0)
  }

  private static func line(of socket: LineSocket, _ buffer: inout LineBuffer) throws(LinkError) -> JSONSlice {
    guard let line = try socket.read(&buffer) else { throw LinkError("the app said nothing for 5 s, or ended") }
    do { return try JSONSlice(line) } catch { throw LinkError("the app sent no JSON: \(error)") }
  }

  /// Sends a request and waits for its answer.
  ///
  /// - Parameters:
  ///   - verb: The value of `do`.
  ///   - keys: Further members of the request, each a name and JSON.
  ///   - limit: How long to wait for the answer.
  /// - Returns: The lines of the answer: several if the app has split the answer, otherwise one.
  /// - Throws: `LinkError` if the app refuses, if the connection ends, or if no answer came before
  ///   the limit. `CancellationError` if the task is cancelled.
  public func request(
    _ verb: String, _ keys: [(name: String, json: String)] = [], within limit: Duration = .seconds(60)
  ) async throws -> [JSONSlice] {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let timer = Task {
      try await Task.sleep(for: limit)
      giveUp(id, LinkError("the app has not answered within \(limit)"))
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let hasEnded = state.withLock { state in
          if !state.ended { state.waiting[id] = Waiting(continuation: continuation) }
          return state.ended
        }
        if hasEnded { return continuation.resume(throwing: LinkError("the app has ended")) }
        if Task.isCancelled { return giveUp(id, CancellationError()) }
        let more = keys.map { ",\($0.name.asJSON):\($0.json)" }.joined()
        do { try socket.write(#"{"id":\#(id),"do":\#(verb.asJSON)\#(more)}"#) } catch { giveUp(id, error) }
      }
    } onCancel: {
      giveUp(id, CancellationError())
    }
  }

  /// Ends the wait for an answer, unless it has come.
  private func giveUp(_ id: Int, _ error: any Error) {
    state.withLock { $0.waiting.removeValue(forKey: id) }?.continuation.resume(throwing: error)
  }

  /// Reads until the app ends the connection. Only one thread may call this method.
  ///
  /// - Parameters:
  ///   - buffer: The bytes that were read beyond the app's answer to hello.
  ///   - push: Called with each push, in the order in which the app sent the pushes. During a call
  ///     nothing is read.
  /// - Returns: Why the connection ended, as a sentence.
  func run(_ buffer: inout LineBuffer, push: (String, [String: JSONSlice], JSONSlice) -> Void) -> String {
    var reason = "the app has ended"
    do {
      while let line = try socket.read(&buffer) {
        let slice = try JSONSlice(line)
        let members = slice.members ?? [:]
        if let name = members["push"]?.string {
          if name == "bye" { reason = "the app says goodbye: \(members["reason"]?.string ?? "")" }
          push(name, members, slice)
        } else if let id = members["id"]?.int {
          answered(id, members, slice)
        }
      }
    } catch { reason = "\(error)" }
    let waiting = state.withLock { state in
      state.ended = true
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for each in waiting { each.continuation.resume(throwing: LinkError(reason)) }
    return reason
  }

  private func answered(_ id: Int, _ members: [String: JSONSlice], _ slice: JSONSlice) {
    let done: Waiting? = state.withLock { state in
      state.waiting[id]?.lines.append(slice)
      return members["more"]?.bool == true ? nil : state.waiting.removeValue(forKey: id)
    }
    guard let done else { return }
    if members["ok"]?.bool == true { return done.continuation.resume(returning: done.lines) }
    done.continuation.resume(throwing: LinkError(of: members["error"]))
  }

  /// Ends the connection. Callable from any thread.
  public func end() { socket.end() }
}
