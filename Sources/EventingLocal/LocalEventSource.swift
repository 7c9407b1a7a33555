public import Eventing

/// A type that handlers can be added to inside one isolation: a ``LocalEvent``, or a view of one.
///
/// - **Order.** Every occurrence posted after an adding method has returned reaches the handler. No
///   occurrence posted before does.
/// - **Inside a handler.** A handler that is added while an occurrence is being delivered does not
///   receive that one.
/// - **Complexity.** Adding is O(1), or O(handlers) for another priority than the lowest. Now and
///   then an add also looks for handlers whose owner is gone, which is O(1) amortized.
///
/// Only this library conforms. Views keep their event alive.
public protocol LocalEventSource<Payload> {
  /// The type of the values that handlers receive.
  associatedtype Payload

  /// Adds a handler.
  ///
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult func add(_ handler: LocalHandler<Payload>) -> LocalHandlerToken
  /// Removes a handler: see ``LocalEvent/remove(_:)``.
  ///
  /// - Returns: Whether the handler was removed by this call.
  @discardableResult func remove(_ token: LocalHandlerToken) -> Bool
}

extension LocalEventSource {
  /// Adds a handler.
  ///
  /// The handler stays until it is removed, or until its event is released. The closure runs where
  /// the event is used, so it may use what belongs to that isolation. If it captures the object
  /// that has the event, neither is ever released: capture that object weakly, or pass it as owner.
  ///
  /// - Parameters:
  ///   - options: A name, a priority, or ``LocalHandlerOption/once``.
  ///   - body: The closure that is called with each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult public func addHandler(
    _ options: LocalHandlerOption..., perform body: @escaping (Payload) -> Void
  ) -> LocalHandlerToken {
    add(LocalHandler(options, perform: body))
  }

  /// Adds a handler that receives its owner, and ends with it.
  ///
  /// The owner is held weakly, and strongly for the length of a call. After the owner has been
  /// released, the handler is never called again, not even for another object at the owner's
  /// address. At the next post, or as handlers are added, the event reclaims the handler's memory.
  ///
  /// - Parameters:
  ///   - options: A name, a priority, or ``LocalHandlerOption/once``.
  ///   - owner: The object that the handler belongs to.
  ///   - body: The closure that is called with the owner and each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult public func addHandler<Owner: AnyObject>(
    _ options: LocalHandlerOption..., owner: Owner, perform body: @escaping (Owner, Payload) -> Void
  ) -> LocalHandlerToken {
    add(
      LocalHandler(options, owner: owner) { [weak owner] payload, claim in
        guard let owner else { return .ownerIsGone }
        if claim() { body(owner, payload) }
        return .proceed
      })
  }

  /// Adds a handler that belongs to the actor that the event is used in, and ends with it.
  ///
  ///     changed.addHandler(isolatedTo: self) { store, document in store.note(document) }
  ///
  /// A closure that captures the actor itself would keep it alive. All else is as for a handler
  /// with an owner.
  ///
  /// - Parameters:
  ///   - options: A name, a priority, or ``LocalHandlerOption/once``.
  ///   - actor: The actor, which is held weakly.
  ///   - body: The closure that is called with the actor and each payload.
  /// - Returns: A token that names the handler. Dropping it changes nothing.
  @discardableResult public func addHandler<Isolation: Actor>(
    _ options: LocalHandlerOption..., isolatedTo actor: isolated Isolation,
    perform body: @escaping (isolated Isolation, Payload) -> Void
  ) -> LocalHandlerToken {
    // Safe: this call was made on the actor. Thereby the compiler keeps the event, and with it the
    // posts, on that actor. `assumeIsolated` stops the program where that is not so.
    nonisolated(unsafe) let body = body
    return add(
      LocalHandler(options, owner: actor) { [weak actor] payload, claim in
        guard let actor else { return .ownerIsGone }
        nonisolated(unsafe) let payload = payload
        if claim() { actor.assumeIsolated { actor in unsafe body(actor, payload) } }
        return .proceed
      })
  }

  /// Forwards every payload to an `Event`, which any thread may listen to.
  ///
  ///     canvas.picked.map(\.id).forward(to: pickedIDs)
  ///
  /// A forward is a handler: it can be locked and removed. The occurrence enters the target, or is
  /// queued there, before the next handler is called. The target is held weakly, as an owner.
  ///
  /// - Parameter target: The event that receives the payloads.
  /// - Returns: The token of the forward.
  /// - Complexity: O(1).
  @discardableResult public func forward(to target: Event<Payload>) -> LocalHandlerToken where Payload: Sendable {
    addHandler(owner: target) { target, payload in target.post(payload) }
  }

  /// Returns a view whose handlers receive the result of a closure for each payload.
  ///
  /// The closure is called once for each handler and occurrence, but not for a locked handler. It
  /// may call any method of any local event.
  ///
  /// - Parameter transform: The closure that converts a payload.
  /// - Returns: A view of the transformed payloads.
  /// - Complexity: O(1).
  public func map<Output>(_ transform: @escaping (Payload) -> Output) -> some LocalEventSource<Output> {
    LocalView(base: self) { payload, deliver in deliver(transform(payload)) }
  }

  /// Returns a view whose handlers receive the non-`nil` results of a closure: see ``map(_:)``.
  ///
  /// If the result is `nil`, the handler is not called. That does not use up a once handler.
  public func compactMap<Output>(_ transform: @escaping (Payload) -> Output?) -> some LocalEventSource<Output> {
    LocalView(base: self) { payload, deliver in transform(payload).map(deliver) ?? .proceed }
  }

  /// Returns a view whose handlers receive the payloads that satisfy a predicate: see ``map(_:)``.
  ///
  /// If the predicate is false, the handler is not called. That does not use up a once handler.
  public func filter(_ isIncluded: @escaping (Payload) -> Bool) -> some LocalEventSource<Payload> {
    LocalView(base: self) { payload, deliver in isIncluded(payload) ? deliver(payload) : .proceed }
  }
}

extension LocalEventSource where Payload == Void {
  /// Adds a handler of an event that carries no value. The handler receives its owner, and ends
  /// with it.
  @discardableResult public func addHandler<Owner: AnyObject>(
    _ options: LocalHandlerOption..., owner: Owner, perform body: @escaping (Owner) -> Void
  ) -> LocalHandlerToken {
    add(
      LocalHandler(options, owner: owner) { [weak owner] _, claim in
        guard let owner else { return .ownerIsGone }
        if claim() { body(owner) }
        return .proceed
      })
  }
}

/// A source of the payloads that a closure makes of another source's payloads.
struct LocalView<Base: LocalEventSource, Payload>: LocalEventSource {
  let base: Base
  let convert: LocalConversion<Base.Payload, Payload>

  func add(_ handler: LocalHandler<Payload>) -> LocalHandlerToken { base.add(LocalHandler(handler, behind: convert)) }
  func remove(_ token: LocalHandlerToken) -> Bool { base.remove(token) }
}
