import Eventing

/// Collected while diagnostics look for calls that hang.
final class WaitingSends: Instrument {
  static let shared = WaitingSends()

  struct Entry {
    let wait: WatchedWait
    let completion: Completion
    let start = ContinuousClock.now
  }

  private let table = Guarded<[UInt64: Entry]>([:])

  /// The longest wait comes first.
  static var entries: [Entry] {
    shared.table.withLock { $0.values.map { $0 } }.sorted { ($0.start, $0.wait.number) < ($1.start, $1.wait.number) }
  }

  static var noted: Int { shared.table.withLock { $0.count } }

  func joined(_ anchor: EventAnchor, hasHandler: Bool) {}

  func began(_ wait: WatchedWait) {
    guard let completion = wait.completion else { return }
    let entry = Entry(wait: wait, completion: completion)
    table.withLock { $0[wait.number] = entry }
  }

  func ended(_ wait: WatchedWait) {
    let gone = table.withLock { $0.removeValue(forKey: wait.number) }
    withExtendedLifetime(gone) {}  // released after the unlock
  }
}
