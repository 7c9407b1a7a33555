import Dispatch
import Eventing

/// One timer for the process, while diagnostics with a limit for stuck calls observe an event. It
/// fires on a queue of its own, so handlers that block every thread of Swift's pool do not stop it.
final class WatchTimer: Sendable {
  static let shared = WatchTimer()

  private struct Watcher {
    let diagnostics: EventDiagnostics
    /// In the order in which watchers came.
    let number: Int
    let interval: Duration
    /// Observations that have not ended.
    var observationCount = 1
    var due: DispatchTime

    /// A look may be late, so that the system can join wake-ups.
    var leeway: DispatchTimeInterval {
      .nanoseconds(Int(min(interval, .seconds(60)) / .nanoseconds(1) / 10))
    }
  }

  private struct State {
    var watchers: [ObjectIdentifier: Watcher] = [:]
    var lastNumber = 0
    var source: (any DispatchSourceTimer)?
  }

  private let state = Guarded(State())
  private let queue = DispatchQueue(label: "eventing.watch", qos: .userInitiated)

  /// For tests.
  var status: (intervals: [Duration], isRunning: Bool) {
    state.withLock { ($0.watchers.values.map(\.interval), $0.source != nil) }
  }

  /// From the first observation on, the timer calls `look()` once in each interval.
  func add(_ diagnostics: EventDiagnostics, every interval: Duration) {
    let isFirst = state.withLock { state -> Bool in
      let id = ObjectIdentifier(diagnostics)
      guard state.watchers[id] == nil else {
        state.watchers[id]?.observationCount += 1
        return false
      }
      // An interval of less than a millisecond would keep a processor busy.
      let interval = max(.milliseconds(1), interval)
      state.lastNumber += 1
      state.watchers[id] = Watcher(
        diagnostics: diagnostics, number: state.lastNumber, interval: interval, due: .afterNow(interval))
      arm(&state)
      return true
    }
    if isFirst { Instruments.add(WaitingSends.shared) }
  }

  /// After the last observation, the timer does not call `look()` any more.
  func remove(_ diagnostics: EventDiagnostics) {
    let gone = state.withLock { state -> Watcher? in
      let id = ObjectIdentifier(diagnostics)
      state.watchers[id]?.observationCount -= 1
      guard state.watchers[id]?.observationCount == 0 else { return nil }
      defer { arm(&state) }
      return state.watchers.removeValue(forKey: id)
    }
    if gone != nil { Instruments.remove(WaitingSends.shared) }
  }

  /// Ends the timer if there is no watcher. The timer is set again after a look, so looks are at
  /// least an interval apart, even if one was late. The caller holds the mutex of the state.
  private func arm(_ state: inout State) {
    guard let next = state.watchers.values.min(by: { $0.due < $1.due }) else {
      state.source?.cancel()
      return state.source = nil
    }
    if let source = state.source { return source.schedule(deadline: next.due, leeway: next.leeway) }
    let source = DispatchSource.makeTimerSource(queue: queue)
    source.setEventHandler { [unowned self] in fire() }
    source.schedule(deadline: next.due, leeway: next.leeway)
    state.source = source
    source.activate()
  }

  /// Called with no mutex held.
  private func fire() {
    let now = DispatchTime.now()
    let due = state.withLock { $0.watchers.values.filter { $0.due <= now } }
      .sorted { $0.number < $1.number }.map(\.diagnostics)
    for diagnostics in due { diagnostics.look() }
    state.withLock { state in
      for diagnostics in due {
        guard let interval = state.watchers[ObjectIdentifier(diagnostics)]?.interval else { continue }
        state.watchers[ObjectIdentifier(diagnostics)]?.due = .afterNow(interval)
      }
      arm(&state)
    }
  }
}

extension DispatchTime {
  /// The clock of `DispatchTime` stands still while the computer sleeps.
  fileprivate static func afterNow(_ duration: Duration) -> DispatchTime {
    let (seconds, attoseconds) = duration.components
    return .now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
  }
}
