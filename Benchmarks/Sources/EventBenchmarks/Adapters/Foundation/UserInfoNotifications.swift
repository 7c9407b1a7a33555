import BenchmarkKit
import Foundation

/// `post(name:object:userInfo:)`, with an observer block.
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
        nonisolated(unsafe) let kept = token  // an opaque object; removing it is safe from any thread
        return Route.Live(
          send: .sync { batch in for value in batch.values { center.post(value) } }, close: { center.remove(kept) })
      }
    ]
  }
}

/// A center with one name and one object. It holds its queue: the center itself holds it weakly, and drops what is posted without it.
private final class UserInfoCenter: @unchecked Sendable {  // a NotificationCenter may be used from any thread; the rest does not change
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
