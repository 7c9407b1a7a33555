public import Eventing

/// An engine that carries messages between processes.
///
/// Programs use a transport that exists, such as ``InMemoryTransport``, and hand it to a
/// ``RemoteEvent``. This protocol is for the authors of other engines. An engine moves messages and
/// does what a ``Verdict`` says. All else is done in front of it, once for all engines: codecs,
/// attempts and their delays, dead letters, deduplication, forwarding paths, and checks of
/// subjects, groups and headers.
///
/// `TransportConformance` of EventingTesting judges an engine by its ``promises``.
///
/// ## What an engine promises
///
/// - **Order.** Messages that one publisher publishes to one subject, one after the other, begin in
///   that order in each group and in each subscription without a group. Only a message that comes
///   again may come later.
/// - **Bounds.** At most ``SubscribeOptions/inFlight`` messages of a subscription have begun
///   without a verdict.
/// - **Groups.** Each message goes to one subscription of each group, and to every subscription
///   without one. A message whose subscription ended without a verdict goes to another one.
/// - **Threads.** No method blocks a thread of Swift's pool or of Dispatch. `begin` runs inline
///   handlers, so no thread that the engine needs for its own work calls it.
public protocol Transport: Sendable {
  /// A name of the engine, equal in all processes that reach the same subjects through it.
  ///
  /// Forwarding compares it, so that a message does not go round in circles.
  var identity: String { get }

  /// The promises of this engine. Remote events refuse at once what it cannot do.
  var promises: TransportPromises { get }

  /// A source of what happens outside any call: a lost connection, dropped messages, rejected
  /// messages. An engine posts these, and never waits for a handler.
  var incidents: any EventSource<TransportIncident> { get }

  /// Publishes a message.
  ///
  /// The engine suspends the caller while it cannot keep up. If it tries again by itself, it does
  /// so with the message's ``RemoteMessage/id``.
  ///
  /// - Parameters:
  ///   - message: The message. Its id, headers and body are sent; its subject is ignored.
  ///   - subject: The subject: words that are joined by dots, without wildcards.
  /// - Returns: A receipt, when the message is stored; at most once: when it is handed over.
  /// - Throws: ``TransportError``. The code is ``TransportError/Code/mayBeStored`` if the engine
  ///   cannot say whether the message is stored.
  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt

  /// Subscribes to a subject.
  ///
  /// A subscription has two phases for each message, because one asynchronous closure would not
  /// keep the order. `begin` is called with one message at a time, in order, and returns while
  /// handlers may still run. The result has the verdict later.
  ///
  /// - Parameters:
  ///   - subject: The subject. The last word may be `*`, for any one word.
  ///   - options: The group, the first message, and the bounds.
  ///   - begin: A closure that begins the handling of a message. Calls never overlap, and the
  ///     engine awaits or reads the verdict of each result.
  /// - Returns: The subscription, when messages that are published from now on will reach it. The
  ///   engine keeps it running until it is cancelled, also if the caller drops it.
  /// - Throws: ``TransportError``.
  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription

  /// Sends a request, and waits for one reply.
  ///
  /// - Parameters:
  ///   - message: The request.
  ///   - subject: The subject, without wildcards.
  ///   - limit: The longest wait.
  /// - Returns: The reply.
  /// - Throws: ``TransportError``: at once with ``TransportError/Code/noResponders`` if no
  ///   process responds to the subject, and with ``TransportError/Code/timedOut`` after the limit.
  func request(_ message: RemoteMessage, to subject: String, within limit: Duration) async throws -> RemoteMessage

  /// Responds to the requests of a subject.
  ///
  /// - Parameters:
  ///   - subject: The subject, without wildcards.
  ///   - group: The group. Each request goes to one member. Without a group, each request goes to
  ///     this responder, and the first reply is taken.
  ///   - inFlight: The largest number of requests that are being answered at one time.
  ///   - answer: A closure that makes the reply. Calls may overlap.
  /// - Returns: The subscription, when requests will reach it.
  /// - Throws: ``TransportError``.
  func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription
}

/// A connection that has several transports, such as a stream and a plain one.
///
/// A connection is no transport. The conformance lets the compiler say so in words where a
/// connection is passed instead of one.
public protocol TransportConnection: Sendable {}
