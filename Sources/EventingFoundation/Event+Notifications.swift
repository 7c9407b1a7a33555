public import Eventing
public import Foundation

extension Event where Payload == PostedNotification {
  /// An event of what a notification center posts; it stops listening when it goes.
  ///
  /// - Parameters:
  ///   - name: `nil` for notifications of every name.
  ///   - object: only what this object posts; it is not kept alive. `nil` for what anybody posts.
  ///   - center: what posts them; it is kept alive.
  public init(notifications name: Notification.Name?, object: AnyObject? = nil, center: NotificationCenter = .default) {
    self.init(name?.rawValue)
    let id = ObjectIdentifier(self)
    let observation = center.addObserver(forName: name, object: object, queue: nil) { [weak self] notification in
      // What this very event hands to the center does not come back.
      guard let self, !NotificationPath.events.contains(id) else { return }
      post(PostedNotification(notification))
    }
    keep(Observation(observation, center))
  }

  /// Posts what passes through this event to a notification center: same name, object and user info.
  ///
  /// What this very event posts does not come back into it. A way round through other events and a center has no end: do not build one.
  ///
  /// - Returns: the token of the handler that does it; the center is kept alive as long as that is there.
  @discardableResult public nonisolated func forward(to center: NotificationCenter) -> HandlerToken {
    forward(to: center) { $0 }
  }
}

extension Event {
  /// Posts what passes through this event to a notification center, under a name.
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
    let isOfAnyone = object == nil
    return forward(to: center) { [weak object] payload in
      guard isOfAnyone || object != nil else { return nil }
      return PostedNotification(name, object: object, userInfo: userInfo(payload))
    }
  }

  nonisolated func forward(
    to center: NotificationCenter, _ notification: @escaping @Sendable (Payload) -> PostedNotification?
  ) -> HandlerToken {
    let id = ObjectIdentifier(self)
    let center = Center(center)
    return addHandler { payload in
      guard let notification = notification(payload) else { return }
      NotificationPath.$events.withValue(NotificationPath.events + [id]) { center.post(notification) }
    }
  }
}

/// The events that a notification being posted came from.
private enum NotificationPath {
  @TaskLocal static var events: [ObjectIdentifier] = []
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

  func post(_ notification: PostedNotification) {
    center.post(name: notification.name, object: notification.object, userInfo: notification.userInfo)
  }
}
