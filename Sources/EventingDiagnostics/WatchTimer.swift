import Dispatch
import Eventing

/// The one timer of the process, by which diagnostics look for calls that hang.
///
/// The timer exists while diagnostics with a limit for stuck calls observe an event. It fires on a
/// queue of its own: handlers that block every thread of Swift's pool do not stop the timer.
final class WatchTimer: Sendable {
  static let shared = WatchTimer()

  private struct Watcher {
    let diagnostics: EventDiagnostics
    /// The number of the watcher, in the order in which they came.
    let number: Int
    let interval: Duration
    /// The number of observations that have not ended.
    var observationCount = 1
    /// The time of the next look.
    var due: DispatchTime

    /// The duration by which a look may be late, so that the system can join wake-ups.
    var leeway: DispatchTimeInterval {
      .nanoseconds(Int(min(interval, .seconds(60)) / .nanoseconds(1) / 10))
    }
  }

  private struct State {
    var watchers: [ObjectIdentifier: Watcher] = [:]
    var lastNumber = 0
    /// The timer; `nil` without a watcher.
    var source: (any DispatchSourceTimer)?
  }

  private let state = Guarded(State())
  private let queue = DispatchQueue(label: "eventing.watch", qos: .userInitiated)

  /// The interval of each `EventDiagnostics` whose `look()` the timer calls, and whether the timer
  /// exists.
  var status: (intervals: [Duration], isRunning: Bool) {
    state.withLock { ($0.watchers.values.map(\.interval), $0.source != nil) }
  }

  /// Counts an observation that these diagnostics have begun. From their first observation on, the
  /// timer calls their `look()`, once in each interval.
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

  /// Subtracts 1 from the number of observations by these diagnostics, because one has ended. After
  /// their last observation, the timer does not call their `look()` any more.
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

  /// Sets the timer to the next look, or ends the timer if there is no watcher. The caller holds
  /// the mutex of the state.
  ///
  /// The timer fires once, and is set again after the look. So two looks for one `EventDiagnostics`
  /// are at least its interval apart, even if the first look was late.
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

  /// Makes the looks that are due, with no mutex held.
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
  /// Returns the instant that comes a duration after now. The clock of `DispatchTime` stands still
  /// while the computer sleeps.
  fileprivate static func afterNow(_ duration: Duration) -> DispatchTime {
    let (seconds, attoseconds) = duration.components
    return .now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
  }
}
