extension Handler {
  /// Returns a copy with a name, which several handlers may share.
  ///
  /// - Parameter name: The name in logs and snapshots, by which methods such as
  ///   ``HandlerRegistry/removeAll(where:)`` select handlers.
  public func named(_ name: String) -> Handler { with { $0.options.name = name } }

  /// Returns a copy with a priority.
  ///
  /// - Parameter priority: Handlers of higher priority come first; handlers of equal priority, in
  ///   the order in which they were added. The default is 0.
  public func priority(_ priority: Int) -> Handler { with { $0.options.priority = priority } }

  /// Returns a copy that is called once for each time that it is added: see
  /// ``EventSource/once(named:on:priority:fileID:line:_:)-(_,SyncDelivery,_,_,_,_)``.
  @inlinable public func once() -> Handler {
    var copy = self
    copy.isOnce = true
    return copy
  }

  /// Returns a copy with additional tags.
  ///
  /// - Parameter tags: Tags by which ``HandlerRegistry/removeAll(where:)`` and its like select
  ///   handlers.
  public func tagged(_ tags: String...) -> Handler {
    with { if !tags.isEmpty { $0.options.tags = ($0.options.tags ?? []).union(tags) } }
  }

  /// Returns a copy that ends with an owner.
  ///
  /// The owner is held weakly, and strongly for the length of a call. If the handler's closure
  /// receives its owner, or is isolated to an actor, the handler keeps the owner that it has.
  ///
  /// - Parameter owner: The object that the handler belongs to. It replaces an earlier owner.
  public func owned(by owner: some AnyObject & Sendable) -> Handler {
    with { if !$0.options.isOwnerBound { $0.options.owner = Owner(owner, on: $0.any.place) } }
  }

  private func with(_ change: (inout Handler) -> Void) -> Handler {
    var copy = self
    change(&copy)
    return copy
  }
}
