public import Foundation

// Safe: immutable, and never looked into by this library; see below for what is left to those who post.

/// A notification, as a value that may be sent between threads.
///
/// `Notification` is not `Sendable`, since its object and user info may be anything. This one carries them on without touching them, as a notification center does
/// when it is posted to on one thread and observed from another. What is in them is as safe as its types are: who posts an object that must stay on its
/// thread adds inline handlers, which run on the thread that posts.
public struct PostedNotification: @unchecked Sendable {
  /// What is notified.
  public let name: Notification.Name
  /// Who posted it, if that was said.
  public let object: AnyObject?
  /// What else was said.
  public let userInfo: [AnyHashable: Any]?

  /// A notification.
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
  /// In one line.
  public var description: String { "notification \(name.rawValue)" }
}
