public import Eventing

// Methods that concern the responders of this process. Each works like the method of `Event` with
// its name.

extension RemoteQuestion {

  /// Removes responders, by default all. Returns their number. O(*n*) for *n* responders.
  @discardableResult public func removeAll(where filter: HandlerFilter = .all) -> Int {
    question.removeAll(where: filter)
  }
  /// Locks responders, by default all that are there now. Returns their number. O(*n*) for *n*
  /// responders.
  @discardableResult public func lockAll(where filter: HandlerFilter = .all) -> Int { question.lockAll(where: filter) }
  /// Unlocks responders, by default all. Returns their number. O(*n*) for *n* responders.
  @discardableResult public func unlockAll(where filter: HandlerFilter = .all) -> Int {
    question.unlockAll(where: filter)
  }
  /// Returns whether a filter selects any responder. O(*n*) for *n* responders.
  public func contains(where filter: HandlerFilter) -> Bool { question.contains(where: filter) }

  /// Locks a responder: it is asked nothing until it is unlocked. The other responders are asked.
  /// Returns whether the responder exists.
  @discardableResult public func lock(_ token: HandlerToken) -> Bool { question.lock(token) }
  /// Ends the lock of a responder. Returns whether the responder exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { question.unlock(token) }
  /// Returns whether a responder is locked. O(1).
  public func isLocked(_ token: HandlerToken) -> Bool { question.isLocked(token) }

  /// Returns whether a responder is registered with this question. O(1).
  public func contains(_ token: HandlerToken) -> Bool { question.contains(token) }
  /// Snapshots of the responders of this process. O(*n*) for *n* responders.
  public var responders: [HandlerSnapshot] { get async { await question.responders } }
  /// Whether ``finish()`` was called. O(1).
  public var isFinished: Bool { listenings.isEnded }
}
