import BenchmarkKit
import Foundation

/// Returns NotificationCenter with `post(name:object:userInfo:)` and observer blocks, as a peer: a
/// row in the tables of the benchmarks.
func userInfoNotifications() -> Peer {
  Peer(
    "notification-userinfo", "NotificationCenter userInfo", .peer,
    mechanism: "a lock, two hash look-ups, a copy of the observers, the payload boxed in [AnyHashable: Any]"
  ) {
    let center = UserInfoCenter()
    return Rig(
      add: { cells in for cell in cells { center.store.tokens.append(center.add { cell.hit($0) }) } },
      send: .sync { batch in for value in batch.values { center.post(value) } },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count { center.remove(center.add { cell.hit($0) }) }
      },
      replaceRandom: .sync { batch in
        let cell = batch.cell
        var victims = VictimPicker(seed: batch.first)
        for _ in 0..<batch.count {
          let index = victims.pick(below: center.store.tokens.count)
          center.remove(center.store.tokens[index])
          center.store.tokens[index] = center.add { cell.hit($0) }
        }
      },
      once: .sync { batch in
        let cell = batch.cell
        for value in batch.values {
          center.once { cell.hit($0) }
          center.post(value)
        }
      },
      close: { for token in center.store.tokens { center.remove(token) } })
  }.with {
    $0.routes = [
      Route("OperationQueue", standsBacklog: false, runsUnderCallgrind: false) { handler in
        let center = UserInfoCenter(queue: OperationQueue())
        let token = center.add(handler)
        nonisolated(unsafe) let kept = token  // Safe: an opaque object, which any thread may remove.
        return Route.Live(
          send: .sync { batch in for value in batch.values { center.post(value) } }, close: { center.remove(kept) })
      }
    ]
  }
}

/// A NotificationCenter that is used with one notification name and one object.
///
/// The wrapper keeps a strong reference to the operation queue. The center's own reference is weak,
/// and the center drops notifications once the queue is released.
// Safe: any thread may use a NotificationCenter. The harness uses `store` from one thread at a
// time. The other properties never change.
private final class UserInfoCenter: @unchecked Sendable {
  private let center = NotificationCenter()
  private let name = Notification.Name("benchmark")
  private let subject = NotificationSubject()
  private let queue: OperationQueue?
  let store = TokenStore<any NSObjectProtocol>()

  init(queue: OperationQueue? = nil) {
    self.queue = queue
    queue?.maxConcurrentOperationCount = 1
  }

  func add(_ body: @escaping Body) -> any NSObjectProtocol {
    center.addObserver(forName: name, object: subject, queue: queue) { note in body(note.userInfo!["value"] as! Int) }
  }
  func remove(_ token: any NSObjectProtocol) { center.removeObserver(token) }

  func once(_ body: @escaping Body) {
    let own = TokenStore<any NSObjectProtocol>()
    own.tokens = [
      add { [self] value in
        own.tokens.popLast().map(remove)
        body(value)
      }
    ]
  }

  func post(_ value: Int) { center.post(name: name, object: subject, userInfo: ["value": value]) }
}
