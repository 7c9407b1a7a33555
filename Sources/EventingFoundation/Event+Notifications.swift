public import Eventing
public import Foundation
import Synchronization

extension Event where Payload == PostedNotification {
  /// An event of what a notification center posts; it stops listening when it goes.
  ///
  /// - Parameters:
  ///   - name: `nil` for notifications of every name.
  ///   - object: only what this object posts; it is not kept alive. `nil` for what anybody posts.
  ///   - center: what posts them; it is kept alive.
  public init(notifications name: Notification.Name?, object: AnyObject? = nil, center: NotificationCenter = .default) {
    self.init(name?.rawValue)
    let id = ObjectIdentifier(center)
    let poster = Poster(object)
    let observation = center.addObserver(forName: name, object: object, queue: nil) { [weak self] notification in
      let posted = PostedNotification(notification)
      guard let self, poster.isThat(posted.object) else { return }
      let passage = Passage.current
      // What its handlers post is new, whatever the way of this one was.
      Passage.$current.withValue(nil) {
        if let passage, passage.isOf(posted, by: id) { enter(posted, passage.transit) } else { post(posted) }
      }
    }
    keep(Observation(observation, center))
  }
}

extension EventSource where Payload == PostedNotification {
  /// Posts what comes from here to a notification center: same name, object and user info.
  ///
  /// It is a forward, which enters no event twice: a way round, through other events or several centers, has an end. (What a plain observer of the center posts while
  /// it is told, with the same name and object, is taken for that.) A `send` waits for the handlers of the events that
  /// listen to the center, and what they hear keeps its sender.
  ///
  /// - Returns: the token of the handler that does it; the center is kept alive as long as that is there.
  @discardableResult public nonisolated func forward(to center: NotificationCenter) -> HandlerToken {
    forward(to: center) { $0 }
  }
}

extension EventSource {
  /// Posts what comes from here to a notification center, under a name. A forward as any other: see ``forward(to:)``.
  ///
  /// - Parameters:
  ///   - center: where to; it is kept alive as long as the handler that does it is there.
  ///   - name: the name of all of them.
  ///   - object: given as the one who posts; not kept alive.
  ///   - userInfo: makes the user info of a payload.
  @discardableResult public nonisolated func forward(
    to center: NotificationCenter, as name: Notification.Name, object: (any AnyObject & Sendable)? = nil,
    userInfo: @escaping @Sendable (Payload) -> [AnyHashable: Any]? = { _ in nil }
  ) -> HandlerToken {
    forward(to: center, until: object) { [weak object] payload in
      PostedNotification(name, object: object, userInfo: userInfo(payload))
    }
  }

  nonisolated func forward(
    to center: NotificationCenter, until object: (any AnyObject & Sendable)? = nil,
    _ notification: @escaping @Sendable (Payload) -> PostedNotification
  ) -> HandlerToken {
    let center = Center(center)
    return forwardOut(until: object, notification) { notification, transit in
      let passage = Passage(notification, center.id, transit)
      Passage.$current.withValue(passage) { center.post(notification) }
      passage.end()
    }
  }
}

/// A notification on its way through a center, and what it has with it. Observers are called within `post`, on the same thread.
private final class Passage: Sendable {
  @TaskLocal static var current: Passage?

  private let notification: PostedNotification
  private let center: ObjectIdentifier
  let transit: ForwardingContext
  private let isOver = Atomic<Bool>(false)

  init(_ notification: PostedNotification, _ center: ObjectIdentifier, _ transit: ForwardingContext) {
    self.notification = notification
    self.center = center
    self.transit = transit
  }

  /// All observers have been called: a task that one of them started, and that has this still, posts something else.
  func end() { isOver.publish(true) }

  /// Whether it is this one. What a plain observer posts meanwhile with the same name and object cannot be told from it.
  func isOf(_ other: PostedNotification, by center: ObjectIdentifier) -> Bool {
    !isOver.load(ordering: .acquiring) && center == self.center && other.name == notification.name
      && other.object === notification.object
  }
}

/// Whose notifications are heard: an object, which may be gone and another at its address, or anybody.
// Safe: a weak reference may be read from any thread, and the object is only compared.
private final class Poster: @unchecked Sendable {
  private weak let object: AnyObject?
  private let isAnyone: Bool

  init(_ object: AnyObject?) {
    self.object = object
    isAnyone = object == nil
  }

  func isThat(_ other: AnyObject?) -> Bool { isAnyone || (object != nil && object === other) }
}

/// Ends with the event that keeps it.
// Safe: immutable, and `removeObserver` may be called from any thread.
private final class Observation: @unchecked Sendable {
  private let token: any NSObjectProtocol
  private let center: NotificationCenter

  init(_ token: any NSObjectProtocol, _ center: NotificationCenter) {
    self.token = token
    self.center = center
  }

  deinit { center.removeObserver(token) }
}

// Safe: a notification center may be posted to from any thread.
private struct Center: @unchecked Sendable {
  private let center: NotificationCenter
  init(_ center: NotificationCenter) { self.center = center }

  var id: ObjectIdentifier { ObjectIdentifier(center) }

  func post(_ notification: PostedNotification) {
    center.post(name: notification.name, object: notification.object, userInfo: notification.userInfo)
  }
}
