public import Eventing

/// An engine that transports messages between processes.
///
/// Programs pass an existing transport, such as ``InMemoryTransport``, to a ``RemoteEvent``. This
/// protocol is for the authors of other engines. An engine moves messages and carries out verdicts:
/// see ``Verdict``. The library does everything else for all engines: codecs, attempts and their
/// delays, dead letters, deduplication, forwarding paths, and checks of subjects, groups and
/// headers.
///
/// `TransportConformance` of EventingTesting tests whether an engine keeps its ``promises``.
///
/// ## What an engine promises
///
/// - **Order.** Messages that one publisher publishes to one subject, one after the other, begin in
///   that order: the engine calls `begin` of ``subscribe(_:_:_:)`` with one after the other. This
///   holds for each group and each subscription without a group. Only a redelivered message may
///   begin later.
/// - **Bounds.** Of the messages of a subscription that have begun, at most
///   ``SubscribeOptions/inFlight`` have no verdict.
/// - **Groups.** Each message goes to one subscription of each group, and to every subscription
///   without a group. If a subscription ends without a verdict on a message, the message goes to
///   another subscription of the group.
/// - **Threads.** No method blocks a thread of Swift's pool or of Dispatch. `begin` runs inline
///   handlers, so it must not be called on a thread that the engine needs for its own work.
public protocol Transport: Sendable {
  /// A name of the engine, equal in all processes that reach the same subjects through this engine.
  ///
  /// Forwards compare the names of engines, so that a message does not circulate for ever.
  var identity: String { get }

  /// The promises of this engine. Remote events refuse features that the engine does not promise.
  var promises: TransportPromises { get }

  /// A source of what happens outside any call: a lost connection, dropped messages, rejected
  /// messages. An engine posts these, and never waits for a handler.
  var incidents: any EventSource<TransportIncident> { get }

  /// Publishes a message.
  ///
  /// The engine suspends the caller while the engine cannot accept more messages. If the engine
  /// retries by itself, it uses the message's ``RemoteMessage/id`` again.
  ///
  /// - Parameters:
  ///   - message: The message. Its id, headers and body are sent; its subject is ignored.
  ///   - subject: The subject: words that are joined by dots, without wildcards.
  /// - Returns: A receipt. An engine that stores messages returns it when the message is stored,
  ///   any other when it has sent the message.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/mayBeStored`` if the engine
  ///   cannot say whether the message is stored.
  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt

  /// Publishes a message, and calls `entered` when later messages can no longer overtake this one.
  ///
  /// A forward begins to publish a payload when the message before has entered the engine. So a
  /// forward need not wait for each receipt. If an engine does not implement this method, a forward
  /// publishes one message after the other.
  ///
  /// - Parameters:
  ///   - message: The message, as for ``publish(_:to:)``.
  ///   - subject: The subject: words that are joined by dots, without wildcards.
  ///   - entered: A closure that the engine calls when the place of the message is decided: no
  ///     message that is published later comes before this message, unless the engine must send
  ///     this message again. The engine may call the closure on any thread and more than once, but
  ///     not under a mutex. If the method ends first, no call is needed.
  /// - Returns: A receipt, as ``publish(_:to:)`` does.
  /// - Throws: ``TransportError``, as ``publish(_:to:)`` does.
  func publish(
    _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
  ) async throws -> Receipt

  /// Subscribes to a subject.
  ///
  /// A subscription has two phases for each message, because one asynchronous closure would not
  /// keep the order. `begin` is called with one message at a time, in order, and returns while
  /// handlers may still run. The result has the verdict later.
  ///
  /// - Parameters:
  ///   - subject: The subject. The last word may be `*`, for any one word.
  ///   - options: The group, the first message, and the bounds.
  ///   - begin: A closure that begins the handling of a message. Calls never overlap. The engine
  ///     awaits or reads the verdict of each result.
  /// - Returns: The subscription. All messages that are published from now on reach it. The engine
  ///   keeps it running until it is cancelled, even if the caller releases it.
  /// - Throws: ``TransportError``.
  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription

  /// Returns what a group has not handled yet. The number of requests to the engine does not depend
  /// on the number of messages.
  ///
  /// - Parameters:
  ///   - subject: The subject that the group subscribes to. The last word may be `*`.
  ///   - group: The group. No member needs to be running.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/badGroup`` if the engine does
  ///   not know the group, and ``TransportError/Code/notPromised`` if the engine stores nothing.
  func backlog(of subject: String, in group: String) async throws -> Backlog

  /// Sends a request, and waits for one reply.
  ///
  /// - Parameters:
  ///   - message: The request.
  ///   - subject: The subject, without wildcards.
  ///   - limit: The longest wait.
  /// - Returns: The reply.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/noResponders``, without a
  ///   wait, if no process responds to the subject, and ``TransportError/Code/timedOut`` after the
  ///   limit.
  func request(_ message: RemoteMessage, to subject: String, within limit: Duration) async throws -> RemoteMessage

  /// Responds to the requests of a subject.
  ///
  /// - Parameters:
  ///   - subject: The subject, without wildcards.
  ///   - group: The group. Each request goes to one member. Without a group, each request goes to
  ///     this responder, too, and the caller takes the first reply.
  ///   - inFlight: The largest number of requests that are being answered at the same time.
  ///   - answer: A closure that makes the reply. Calls may overlap.
  /// - Returns: The subscription. All requests that are sent from now on can reach it.
  /// - Throws: ``TransportError``.
  func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription
}

extension Transport {
  /// Throws ``TransportError/Code/notPromised``: the engine stores nothing, or does not count.
  public func backlog(of subject: String, in group: String) async throws -> Backlog {
    throw TransportError(
      .notPromised, "expected an engine that counts what waits for the group \(group); this one does not")
  }

  /// Publishes a message, and never calls `entered`. A forward publishes the next message when this
  /// method has ended.
  public func publish(
    _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
  ) async throws -> Receipt {
    try await publish(message, to: subject)
  }
}

/// A connection that has several transports, such as a stream and a plain one.
///
/// A connection itself is not a transport. With this protocol, the compiler can explain the mistake
/// if a connection is passed where a transport is expected.
public protocol TransportConnection: Sendable {}
