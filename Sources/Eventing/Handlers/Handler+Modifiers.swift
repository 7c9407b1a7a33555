extension Handler {
  /// With a name; several handlers may have the same.
  public func named(_ name: String) -> Handler { with { $0.options.name = name } }

  /// Called before handlers of lower priority; the default is 0.
  public func priority(_ priority: Int) -> Handler { with { $0.options.priority = priority } }

  /// Called once: see ``EventSource/once(named:on:priority:_:)-(_,Delivery,_,_)``.
  @inlinable public func once() -> Handler {
    var copy = self
    copy.isOnce = true
    return copy
  }

  /// With tags, beside those it has, by which it can be removed and locked.
  public func tagged(_ tags: String...) -> Handler {
    with { if !tags.isEmpty { $0.options.tags = ($0.options.tags ?? []).union(tags) } }
  }

  /// Ends with its owner, which is held weakly, and strongly for the length of a call. A handler that is called with an owner keeps that one.
  public func owned(by owner: some AnyObject & Sendable) -> Handler {
    with { if !$0.options.isOwnerBound { $0.options.owner = Owner(owner) } }
  }

  private func with(_ change: (inout Handler) -> Void) -> Handler {
    var copy = self
    change(&copy)
    return copy
  }
}
