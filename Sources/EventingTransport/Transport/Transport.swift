public import Eventing

/// An engine that transports messages between processes.
///
/// Programs pass an existing transport, such as ``InMemoryTransport``, to a ``RemoteEvent``. This
/// protocol is for the authors of other engines. An engine moves messages and carries out verdicts:
/// see ``Verdict``. The library does everything else for all engines: codecs, attempts and their
/// delays, dead letters, deduplication, forwarding paths, and checks of subjects, groups and
/// headers.
///
/// `TransportConformance` in EventingTesting tests whether an engine keeps its ``promises``.
///
/// ## What an engine promises
///
/// - **Order.** Messages that one publisher publishes to one subject, one after the other, begin in
///   that order, which means that the engine calls `begin` of ``subscribe(_:_:_:)`` with them in
///   that order. This holds for each group and for each subscription without a group. Only a
///   redelivered message may begin later.
/// - **Bounds.** At most ``SubscribeOptions/inFlight`` messages of a subscription have begun but
///   have no verdict yet.
/// - **Groups.** Each message goes to one subscription of each group and to every subscription
///   without a group. If a subscription ends without a verdict on a message, the message goes to
///   another subscription of the group.
/// - **Threads.** No method blocks a thread of Swift's pool or of Dispatch. `begin` runs inline
///   handlers, so it must not be called on a thread that the engine needs for its own work.
public protocol Transport: Sendable {
  /// A name for the engine that is the same in all processes that reach the same subjects through
  /// it.
  ///
  /// Forwards compare the names of engines so that a message doesn't circulate forever.
  var identity: String { get }

  /// The promises of this engine. Remote events refuse features that it doesn't promise.
  var promises: TransportPromises { get }

  /// A source of what happens outside any call, such as a lost connection, or dropped or rejected
  /// messages. An engine posts these incidents and never waits for a handler.
  var incidents: any EventSource<TransportIncident> { get }

  /// Publishes a message.
  ///
  /// The engine suspends the caller while it can't accept more messages. If the engine retries by
  /// itself, it reuses the message's ``RemoteMessage/id``.
  ///
  /// - Parameters:
  ///   - message: The message. Its id, headers and body are sent; its subject is ignored.
  ///   - subject: The subject: words joined by dots, without wildcards.
  /// - Returns: A receipt. An engine that stores messages returns it once the message is stored;
  ///   any other engine returns it once it has sent the message.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/mayBeStored`` if the engine
  ///   can't tell whether the message is stored.
  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt

  /// Publishes a message and calls `entered` once later messages can no longer overtake it.
  ///
  /// A forward begins to publish a payload once the previous message has entered the engine, so
  /// that it need not wait for each receipt. If an engine doesn't implement this method, a forward
  /// publishes one message after the other.
  ///
  /// - Parameters:
  ///   - message: The message, as for ``publish(_:to:)``.
  ///   - subject: The subject: words joined by dots, without wildcards.
  ///   - entered: A closure that the engine calls once the place of the message is decided: no
  ///     message that is published later comes before it, unless the engine must send it again. The
  ///     engine may call the closure on any thread and more than once, but not under a mutex. If
  ///     the method ends first, no call is needed.
  /// - Returns: A receipt, as for ``publish(_:to:)``.
  /// - Throws: ``TransportError``, as for ``publish(_:to:)``.
  func publish(
    _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
  ) async throws -> Receipt

  /// Subscribes to a subject.
  ///
  /// A subscription handles each message in two phases, because a single asynchronous closure
  /// wouldn't keep the order. `begin` is called with one message at a time, in order, and may
  /// return while handlers are still running. Its result provides the verdict later.
  ///
  /// - Parameters:
  ///   - subject: The subject. The last word may be `*`, which stands for any one word.
  ///   - options: The group, the first message and the bounds.
  ///   - begin: A closure that begins the handling of a message. Its calls never overlap. The
  ///     engine awaits or reads the verdict of each result.
  /// - Returns: The subscription. All messages published from now on reach it. The engine keeps it
  ///   running until it is cancelled, even if the caller releases it.
  /// - Throws: ``TransportError``.
  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription

  /// Returns what a group hasn't handled yet. The number of requests to the engine doesn't depend
  /// on the number of messages.
  ///
  /// - Parameters:
  ///   - subject: The subject that the group subscribes to. The last word may be `*`.
  ///   - group: The group. No member needs to be running.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/badGroup`` if the engine
  ///   doesn't know the group and ``TransportError/Code/notPromised`` if it stores nothing.
  func backlog(of subject: String, in group: String) async throws -> Backlog

  /// Sends a request and waits for one reply.
  ///
  /// - Parameters:
  ///   - message: The request.
  ///   - subject: The subject, without wildcards.
  ///   - limit: The longest time to wait.
  /// - Returns: The reply.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/noResponders``, without
  ///   waiting, if no process responds to the subject, and ``TransportError/Code/timedOut`` if no
  ///   reply came within the limit.
  func request(_ message: RemoteMessage, to subject: String, within limit: Duration) async throws -> RemoteMessage

  /// Responds to requests to a subject.
  ///
  /// - Parameters:
  ///   - subject: The subject, without wildcards.
  ///   - group: The group. Each request goes to one of its members. Without a group, each request
  ///     also goes to this responder, and the caller takes the first reply.
  ///   - inFlight: The maximum number of requests that are answered at the same time.
  ///   - answer: A closure that creates the reply. Its calls may overlap.
  /// - Returns: The subscription. All requests sent from now on can reach it.
  /// - Throws: ``TransportError``.
  func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription
}

extension Transport {
  /// Throws ``TransportError/Code/notPromised``: the engine stores nothing or doesn't count.
  public func backlog(of subject: String, in group: String) async throws -> Backlog {
    throw TransportError(
      .notPromised, "expected an engine that counts what waits for the group \(group); this one does not")
  }

  /// Publishes a message without calling `entered`. A forward publishes the next message once this
  /// method has ended.
  public func publish(
    _ message: RemoteMessage, to subject: String, entered: @escaping @Sendable () -> Void
  ) async throws -> Receipt {
    try await publish(message, to: subject)
  }
}

/// A connection with several transports, such as a stream and a plain one.
///
/// A connection isn't itself a transport. This protocol lets the compiler explain the mistake of
/// passing a connection where a transport is expected.
public protocol TransportConnection: Sendable {}
