import Dispatch
import Eventing
import Foundation

/// The places where a handler may run, as far as the verifiers distinguish them.
enum HandlerPlace: Int, CaseIterable, Sendable {
  case inline, background, queue, crowd, main, mainAsync, inOrder, isolated, concurrent, task

  /// Whether the handler runs one call at a time, in order.
  var isInOrder: Bool { self != .concurrent && self != .task }
  /// Whether the event itself calls the handler, before it delivers the next occurrence.
  var isInline: Bool { self == .inline }

  /// The largest number of calls that may have been claimed without having reached their first
  /// line. A `.task` handler may have one such call on each thread of the pool.
  var mostInFlight: Int {
    switch self {
    case .task: max(HandlerPlace.limit, ProcessInfo.processInfo.activeProcessorCount)
    case .concurrent: HandlerPlace.limit
    default: 1
    }
  }

  /// The limit of overlapping calls of a `.concurrent` handler.
  static let limit = 3
}

/// An actor for handlers to run on. Only the actor's isolation protects `calls`. So if a handler
/// runs elsewhere, the thread sanitizer reports a data race.
actor Room {
  private(set) var calls = 0
  func enter() { calls += 1 }
  func perform<Result: Sendable>(_ body: @Sendable () -> Result) -> Result { body() }
}

/// The contexts for the handlers of a trial: an actor, a serial queue and a concurrent queue.
struct Places: Sendable {
  let room = Room()
  let queue = DispatchQueue(label: "stress.serial")
  let crowd = DispatchQueue(label: "stress.crowd", attributes: .concurrent)
}

extension EventSource where Payload == StressPayload {
  /// Adds the handler whose calls the log records, to run at the `place` that the log names.
  nonisolated func add(_ handlerLog: HandlerLog, _ places: Places, priority: Int = 0) -> HandlerToken {
    let canary = Canary(.handler)
    let options: HandlerOption<StressPayload> = .options(
      handlerLog.name.map { .named($0) } ?? .options(), .priority(priority), handlerLog.isOnce ? .once : .options())
    switch handlerLog.place {
    case .inline: return addHandler(options) { try handlerLog.call($0, canary) }
    case .background:
      return addHandler(options, on: .background) {
        try handlerLog.call($0, canary)
      }
    case .queue:
      return addHandler(options, on: .queue(places.queue)) {
        try handlerLog.call($0, canary)
      }
    case .crowd:
      return addHandler(options, on: .queue(places.crowd)) {
        try handlerLog.call($0, canary)
      }
    case .main:
      return addHandler(options, on: .main) { payload in
        MainQueue.expectHere(handlerLog)
        try handlerLog.call(payload, canary)
      }
    case .mainAsync:
      return addHandler(options, on: .main) { payload in
        MainQueue.expectHere(handlerLog)
        try await handlerLog.call(payload, canary, pausing: true)
      }
    case .inOrder:
      return addHandler(options) {
        try await handlerLog.call($0, canary, pausing: true)
      }
    case .isolated:
      return addHandler(options, isolatedTo: places.room) { room, payload in
        room.enter()
        try await handlerLog.call(payload, canary, pausing: true)
      }
    case .concurrent:
      return addHandler(options, on: .concurrent(limit: HandlerPlace.limit)) {
        try await handlerLog.call($0, canary, pausing: true)
      }
    case .task:
      return addHandler(options, on: .task) {
        try await handlerLog.call($0, canary, pausing: true)
      }
    }
  }
}

/// Detects whether code runs on the main queue, by a queue-specific value.
enum MainQueue {
  private static let key = DispatchSpecificKey<Bool>()

  static func mark() { DispatchQueue.main.setSpecific(key: key, value: true) }

  /// Whether the caller runs on the main queue.
  static var isHere: Bool { DispatchQueue.getSpecific(key: key) == true }

  static func expectHere(_ handlerLog: HandlerLog) {
    handlerLog.checks.expect(.g13, isHere, "\(handlerLog) does not run on the main queue")
  }
}
