import Synchronization

/// A watcher of all events of the process, in another module, such as an inspection.
///
/// While no instrument is on, making an event, adding a handler and beginning a wait load one
/// atomic flag each. While one is on, each `send` that suspends takes part in the wait graph.
///
/// No mutex of the library is held during a call.
package protocol Instrument: AnyObject, Sendable {
  /// An event was made, or a handler is about to be added to an event.
  func joined(_ anchor: EventAnchor, hasHandler: Bool)
  /// A task begins to wait.
  func began(_ wait: WatchedWait)
  /// A task is about to end a wait. An instrument that was told of the beginning is told of the
  /// end, even if it is off by then.
  func ended(_ wait: WatchedWait)
}

/// The instruments that are on.
package enum Instruments {
  private static let count = Atomic<Int>(0)
  private static let all = Guarded<[(instrument: any Instrument, users: Int)]>([])
  private static let lastWait = Atomic<UInt64>(0)

  /// Whether some instrument is on. One relaxed load.
  static var areOn: Bool { count.load(ordering: .relaxed) > 0 }

  /// Turns an instrument on, until ``remove(_:)`` has been called as often.
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

  /// Tells that the calling task begins to wait. The caller ends the wait that is returned.
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

/// A wait of a task, for a completion or for the next payload of an event.
package struct WatchedWait: Sendable {
  package enum Kind: String, Sendable { case send, ticket, quiesce, next }

  /// A number that no other wait has.
  package let number: UInt64
  package let kind: Kind
  /// The anchor of the event, if it is known.
  package let anchor: EventAnchor?
  /// The completion; `nil` if `kind` is `next`.
  package fileprivate(set) var completion: Completion?
  /// The number of the waiter in the completion.
  package let waiter: Int
  fileprivate let instruments: [any Instrument]

  /// The wait with another completion. The notes of a completion have it without one, because it
  /// would retain the completion.
  func with(_ completion: Completion?) -> WatchedWait {
    var wait = self
    wait.completion = completion
    return wait
  }

  /// Tells the instruments of the end.
  @inline(never) func end() { for each in instruments { each.ended(self) } }
}
