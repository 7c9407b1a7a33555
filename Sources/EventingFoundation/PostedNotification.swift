public import Foundation

// Safe: immutable, and this library never reads the contents. The duty of the poster is described
// below.

/// A notification, as a value that can be sent between threads.
///
/// `Notification` is not `Sendable`, since its object and user info may be of any type. This value
/// carries both between threads without using them, as a notification center does. The contents are
/// as safe as their types are.
///
/// Every handler, an inline one too, may run on another thread than the poster's, after the
/// center's `post` has returned: if the event is busy, its own queue delivers the notification. So
/// an object that must stay on its thread, or is changed after the `post`, does not belong into a
/// notification that an event carries. Observe the center itself there, and post what the handlers
/// need.
public struct PostedNotification: @unchecked Sendable {
  /// The name of the notification.
  public let name: Notification.Name
  /// The object that posted the notification, if there is one.
  public let object: AnyObject?
  /// The user info of the notification, if there is any.
  public let userInfo: [AnyHashable: Any]?

  /// Creates a notification.
  ///
  /// - Parameters:
  ///   - name: The name of the notification.
  ///   - object: The object that posts it. The notification retains the object.
  ///   - userInfo: Further information.
  public init(_ name: Notification.Name, object: AnyObject? = nil, userInfo: [AnyHashable: Any]? = nil) {
    self.name = name
    self.object = object
    self.userInfo = userInfo
  }

  init(_ notification: Notification) {
    self.init(notification.name, object: notification.object as AnyObject?, userInfo: notification.userInfo)
  }
}

extension PostedNotification: CustomStringConvertible {
  public var description: String { "notification \(name.rawValue)" }
}
