public import Eventing
public import Foundation
import Synchronization

extension Event where Payload == PostedNotification {
  /// Creates an event that posts the notifications of a notification center.
  ///
  /// The event listens until it is released: store it. A handler that is added in the expression
  /// `Event(notifications: name).addHandler { … }` hears nothing, because nothing retains the
  /// event. The compiler cannot warn.
  ///
  /// If the event is idle, its inline handlers run on the thread that posts the notification,
  /// inside the center's `post`. If it is busy, for instance with a notification that another
  /// thread posts, they run later, and on any thread.
  ///
  /// - Parameters:
  ///   - name: The name of the notifications; `nil` for every name.
  ///   - object: The object whose notifications are wanted. The event does not retain it. `nil`
  ///     stands for any object.
  ///   - center: The notification center. The event retains it.
  public init(notifications name: Notification.Name?, object: AnyObject? = nil, center: NotificationCenter = .default) {
    self.init(name?.rawValue)
    let (poster, here) = (Poster(object), Center(center))
    let observation = center.addObserver(forName: name, object: object, queue: nil) { [weak self] notification in
      let posted = PostedNotification(notification)
      guard let self, poster.isThat(posted.object) else { return }
      let passage = Passage.current
      // A notification that a handler posts is new, so it does not inherit the path of the
      // notification that the handler received.
      Passage.$current.withValue(nil) {
        if let passage, passage.isOf(posted, by: here) {
          enter(posted, passage.transit)
        } else {
          enter(posted, from: here.farEnd(of: posted))
        }
      }
    }
    keep(Observation(observation, center))
  }
}

extension EventSource where Payload == PostedNotification {
  /// Posts each notification to a notification center, with its name, object and user info. In all
  /// other respects, works like ``forward(to:as:object:userInfo:)``.
  ///
  /// - Parameter center: The notification center. The forward retains it.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward(to center: NotificationCenter) -> HandlerToken {
    forward(to: center) { $0 }
  }
}

extension EventSource {
  /// Posts each payload to a notification center, as a notification with a name.
  ///
  /// This is a forward: a handler that posts to the center on the thread that delivers, so
  /// observers of the center run there.
  ///
  /// - A forwarded occurrence reaches no event twice, so a cycle through other events and centers
  ///   ends. An occurrence that came from this name of the center, through
  ///   `Event(notifications:object:center:)` and any number of forwards, is not posted there again,
  ///   not even for another object: the report counts the forward as skipped. So two forwards make
  ///   a bridge in both directions. To post such an occurrence for another object, add a handler
  ///   that posts.
  /// - While the center delivers the forwarded notification, an observer that is no event may post
  ///   another one of equal name and object. Events that listen to the center take it for the
  ///   forwarded one: the events that the forwarded occurrence came through do not receive it.
  /// - A `send` waits for the handlers of events that listen to the center. These handlers receive
  ///   the original sender.
  ///
  /// - Parameters:
  ///   - center: The notification center. The forward retains it.
  ///   - name: The name of the notifications.
  ///   - object: The object of the notifications. The forward does not retain the object, and ends
  ///     when the object is released.
  ///   - userInfo: A closure that makes the user info for a payload. It is called once for each
  ///     occurrence, on the thread that delivers.
  /// - Returns: The token of the forward.
  @discardableResult public nonisolated func forward(
    to center: NotificationCenter, as name: Notification.Name, object: (any AnyObject & Sendable)? = nil,
    userInfo: @escaping @Sendable (Payload) -> [AnyHashable: Any]? = { _ in nil }
  ) -> HandlerToken {
    forward(to: center, as: name, until: object) { [weak object] payload in
      PostedNotification(name, object: object, userInfo: userInfo(payload))
    }
  }

  nonisolated func forward(
    to center: NotificationCenter, as name: Notification.Name? = nil, until object: (any AnyObject & Sendable)? = nil,
    _ notification: @escaping @Sendable (Payload) -> PostedNotification
  ) -> HandlerToken {
    let center = Center(center)
    return forwardOut(
      until: object, as: "notifications", label: name?.rawValue, notification, to: center.farEnd
    ) { notification, way in
      let passage = Passage(notification, center, way)
      Passage.$current.withValue(passage) { center.post(notification) }
      passage.end()
    }
  }
}

/// A forwarded notification while a center delivers it, with the context of the forwarded
/// occurrence: its path, its sender, and the `send` that waits. The center calls its observers
/// inside `post`, on one thread, so they find this object in ``current``.
private final class Passage: Sendable {
  @TaskLocal static var current: Passage?

  private let notification: PostedNotification
  private let center: Center
  let transit: ForwardingContext
  private let isOver = Atomic<Bool>(false)

  init(_ notification: PostedNotification, _ center: Center, _ transit: ForwardingContext) {
    self.notification = notification
    self.center = center
    self.transit = transit
  }

  /// Marks the delivery of the notification as over, because all observers have been called. A task
  /// that an observer started still has this object as `current`, but what the task posts from now
  /// on is not taken for the forwarded notification.
  func end() { isOver.publish(true) }

  /// Returns whether a notification that an observer receives is the forwarded one. Only the name
  /// and the object are compared. While the center delivers the forwarded notification, an observer
  /// that belongs to no event may post another notification of equal name and object. This method
  /// returns true for that other notification, too.
  func isOf(_ other: PostedNotification, by center: Center) -> Bool {
    !isOver.load(ordering: .acquiring) && center == self.center && other.name == notification.name
      && other.object === notification.object
  }
}

/// The object whose notifications are wanted, or any object. A released object matches nothing,
/// even if a new object has its address.
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

/// The registration of an event with a notification center. The registration ends with the event.
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

// Safe: any thread may post to a notification center.
private struct Center: Hashable, @unchecked Sendable {
  private let center: NotificationCenter
  init(_ center: NotificationCenter) { self.center = center }

  static func == (one: Center, other: Center) -> Bool { one.center === other.center }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(center)) }

  func post(_ notification: PostedNotification) {
    center.post(name: notification.name, object: notification.object, userInfo: notification.userInfo)
  }

  /// Returns the far end of a notification: its name in this center, whatever its object is.
  func farEnd(of notification: PostedNotification) -> CenterName { CenterName(center: self, name: notification.name) }
}

/// One name in a notification center.
private struct CenterName: Hashable {
  let center: Center
  let name: Notification.Name
}
