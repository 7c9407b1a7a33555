public import Eventing

// Methods that concern the responders of this process. Each works like the method of `Event` with
// its name.

extension RemoteQuestion {
  /// Removes all responders with a name. Returns their number. O(*n*) for *n* responders.
  @discardableResult public func remove(named name: String) -> Int { question.remove(named: name) }

  /// Locks a responder: it is asked nothing until it is unlocked. The other responders are asked.
  /// Returns whether the responder exists.
  @discardableResult public func lock(_ token: HandlerToken) -> Bool { question.lock(token) }
  /// Ends the lock of a responder. Returns whether the responder exists.
  @discardableResult public func unlock(_ token: HandlerToken) -> Bool { question.unlock(token) }
  /// Locks all responders with a name. Returns their number. O(*n*) for *n* responders.
  @discardableResult public func lock(named name: String) -> Int { question.lock(named: name) }
  /// Unlocks all responders with a name. Returns their number. O(*n*) for *n* responders.
  @discardableResult public func unlock(named name: String) -> Int { question.unlock(named: name) }
  /// Returns whether a responder is locked. O(1).
  public func isLocked(_ token: HandlerToken) -> Bool { question.isLocked(token) }

  /// Returns whether a responder is registered with this question. O(1).
  public func contains(_ token: HandlerToken) -> Bool { question.contains(token) }
  /// Returns whether a responder has this name. O(*n*) for *n* responders.
  public func contains(named name: String) -> Bool { question.contains(named: name) }
  /// Snapshots of the responders of this process. O(*n*) for *n* responders.
  public var responders: [HandlerSnapshot] { get async { await question.responders } }
  /// Whether ``finish()`` was called. O(1).
  public var isFinished: Bool { listenings.isEnded }
}
