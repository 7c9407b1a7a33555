import Synchronization

/// Called with no mutex held. While none is on, making an event, adding a handler and beginning a
/// wait load one atomic flag each. While one is on, each `send` that suspends takes part in the
/// wait graph.
package protocol Instrument: AnyObject, Sendable {
  func joined(_ anchor: EventAnchor, hasHandler: Bool)
  func began(_ wait: WatchedWait)
  /// Told whenever the beginning was told, even if the instrument is off by then.
  func ended(_ wait: WatchedWait)
}

package enum Instruments {
  private static let count = Atomic<Int>(0)
  private static let all = Guarded<[(instrument: any Instrument, users: Int)]>([])
  private static let lastWait = Atomic<UInt64>(0)

  static var areOn: Bool { count.load(ordering: .relaxed) > 0 }

  package static func add(_ instrument: any Instrument) {
    all.withLock { all in
      if let index = all.firstIndex(where: { $0.instrument === instrument }) {
        all[index].users += 1
      } else {
        all.append((instrument, 1))
      }
    }
    count.wrappingAdd(1, ordering: .relaxed)
  }

  package static func remove(_ instrument: any Instrument) {
    count.wrappingSubtract(1, ordering: .relaxed)
    all.withLock { all in
      guard let index = all.firstIndex(where: { $0.instrument === instrument }) else { return }
      all[index].users -= 1
      if all[index].users == 0 { all.remove(at: index) }
    }
  }

  private static var now: [any Instrument] { all.withLock { $0.map(\.instrument) } }

  @inline(never) static func joined(_ anchor: EventAnchor, hasHandler: Bool) {
    for each in now { each.joined(anchor, hasHandler: hasHandler) }
  }

  @inline(never) static func began(
    _ kind: WatchedWait.Kind, at anchor: EventAnchor?, _ completion: Completion? = nil, as waiter: Int = 0
  ) -> WatchedWait {
    let wait = WatchedWait(
      number: lastWait.wrappingAdd(1, ordering: .relaxed).newValue, kind: kind, anchor: anchor, completion: completion,
      waiter: waiter, instruments: now)
    for each in wait.instruments { each.began(wait) }
    return wait
  }
}

package struct WatchedWait: Sendable {
  package enum Kind: String, Sendable { case send, ticket, quiesce, next }

  package let number: UInt64
  package let kind: Kind
  package let anchor: EventAnchor?
  package fileprivate(set) var completion: Completion?
  package let waiter: Int
  fileprivate let instruments: [any Instrument]

  /// The notes of a completion have the wait without it, to avoid a retain cycle.
  func with(_ completion: Completion?) -> WatchedWait {
    var wait = self
    wait.completion = completion
    return wait
  }

  @inline(never) func end() { for each in instruments { each.ended(self) } }
}
