import Dispatch
import Eventing
import Foundation

/// Where a handler runs, as the oracle tells them apart.
enum Place: Int, CaseIterable, Sendable {
  case inline, background, queue, crowd, main, mainAsync, inOrder, isolated, concurrent, task

  /// One call at a time, in order.
  var isInOrder: Bool { self != .concurrent && self != .task }
  /// Called by the event itself, before it delivers the next occurrence.
  var isInline: Bool { self == .inline }

  /// How many calls may have been decided, and not have come to their first line yet: for a task each, one on every thread of the pool.
  var mostInFlight: Int {
    switch self {
    case .task: max(Place.limit, ProcessInfo.processInfo.activeProcessorCount)
    case .concurrent: Place.limit
    default: 1
    }
  }

  /// How many calls of a `.concurrent` handler may overlap.
  static let limit = 3
}

/// An actor for handlers to run on. `calls` is guarded by nothing but the actor.
actor Room {
  private(set) var calls = 0
  func enter() { calls += 1 }
  func perform<Result: Sendable>(_ body: @Sendable () -> Result) -> Result { body() }
}

/// The places that handlers of a trial run in: one actor, a serial queue, and a concurrent one.
struct Places: Sendable {
  let room = Room()
  let queue = DispatchQueue(label: "stress.serial")
  let crowd = DispatchQueue(label: "stress.crowd", attributes: .concurrent)
}

extension EventSource where Payload == StressPayload {
  /// Adds the handlerLog's handler, wherever it is to run.
  nonisolated func add(_ handlerLog: HandlerLog, _ places: Places, priority: Int = 0) -> HandlerToken {
    let (canary, name, once) = (Canary(.handler), handlerLog.name, handlerLog.isOnce)
    switch handlerLog.place {
    case .inline: return addHandler(named: name, priority: priority, once: once) { try handlerLog.call($0, canary) }
    case .background:
      return addHandler(named: name, on: .background, priority: priority, once: once) {
        try handlerLog.call($0, canary)
      }
    case .queue:
      return addHandler(named: name, on: .queue(places.queue), priority: priority, once: once) {
        try handlerLog.call($0, canary)
      }
    case .crowd:
      return addHandler(named: name, on: .queue(places.crowd), priority: priority, once: once) {
        try handlerLog.call($0, canary)
      }
    case .main:
      return addHandler(named: name, on: .main, priority: priority, once: once) { payload in
        MainQueue.expectHere(handlerLog)
        try handlerLog.call(payload, canary)
      }
    case .mainAsync:
      return addHandler(named: name, on: .main, priority: priority, once: once) { payload in
        MainQueue.expectHere(handlerLog)
        try await handlerLog.call(payload, canary, pausing: true)
      }
    case .inOrder:
      return addHandler(named: name, priority: priority, once: once) {
        try await handlerLog.call($0, canary, pausing: true)
      }
    case .isolated:
      return addHandler(named: name, priority: priority, once: once, isolatedTo: places.room) { room, payload in
        room.enter()
        try await handlerLog.call(payload, canary, pausing: true)
      }
    case .concurrent:
      return addHandler(named: name, on: .concurrent(limit: Place.limit), priority: priority, once: once) {
        try await handlerLog.call($0, canary, pausing: true)
      }
    case .task:
      return addHandler(named: name, on: .task, priority: priority, once: once) {
        try await handlerLog.call($0, canary, pausing: true)
      }
    }
  }
}

/// Tells whether code runs on the main queue, by a mark of our own.
enum MainQueue {
  private static let key = DispatchSpecificKey<Bool>()

  static func mark() { DispatchQueue.main.setSpecific(key: key, value: true) }

  /// Whether the caller runs on the main queue.
  static var isHere: Bool { DispatchQueue.getSpecific(key: key) == true }

  static func expectHere(_ handlerLog: HandlerLog) {
    handlerLog.checks.expect(.g13, isHere, "\(handlerLog) runs elsewhere")
  }
}
