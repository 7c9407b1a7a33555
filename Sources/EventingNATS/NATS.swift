#if NATS
  public import Eventing
  @_exported public import EventingTransport
  import Foundation

  /// A connection to a NATS server or cluster.
  ///
  ///     let nats = try await NATS.connect("tls://bus:4222", credentials: .file("app.creds"))
  ///     let orders = try await nats.stream("ORDERS", subjects: ["orders.>"])   // at least once
  ///     let ticks = nats.plain                                                 // at most once
  ///
  /// After a lost connection, libnats reconnects by itself, without a limit. Meanwhile `publish`
  /// waits, for at most its time limit. If a server refuses the credentials twice in a row, libnats
  /// closes the connection, and it stays closed: connect again.
  ///
  /// Any thread and any handler may call any method. The connection closes when ``close(within:)``
  /// is called. It also closes when the last reference to it, to its transports and to their
  /// subscriptions is released.
  ///
  /// After a reconnection, libnats sends the requests for subscriptions again. If the server does
  /// not take them, the cancellation of a listening may wait for up to five seconds.
  public final class NATS: Sendable, TransportConnection {
    let engine: Engine

    private init(_ engine: Engine) { self.engine = engine }

    /// Connects to the first reachable server.
    ///
    /// - Parameters:
    ///   - servers: The addresses: `nats://host:4222`, or `tls://host:4222` for TLS. If one of them
    ///     begins with `tls://`, all connections use TLS.
    ///   - credentials: The credentials; `nil` if the server needs none.
    ///   - tls: The TLS options. If they are given, all connections use TLS. `nil` stands for the
    ///     options of the system, if an address begins with `tls://`. Before anything is sent, the
    ///     certificate and the host are checked.
    ///   - connectTimeout: The longest wait of this call, for all servers together. It is divided
    ///     equally among the servers. When libnats reconnects, each server has this part as its
    ///     limit again.
    ///   - publishTimeout: The longest wait of `publish`. It covers the waits for room, for the
    ///     server, and for the confirmation that the message is stored. A server that starts has no
    ///     streams yet, so a `publish` to a deleted stream fails only after this time.
    ///   - identity: The name of the cluster for forwarding. It must be equal in all processes.
    ///     Only a process that connects to two clusters needs two names.
    /// - Returns: The connection.
    /// - Throws: ``EventingTransport/TransportError``. It names the server and the fault: no
    ///   server, refused credentials, an untrusted certificate. The code is
    ///   ``EventingTransport/TransportError/Code/timedOut`` after `connectTimeout`. If the task is
    ///   cancelled, a `CancellationError`.
    public static func connect(
      _ servers: String..., credentials: Credentials? = nil, tls: TLS? = nil, connectTimeout: Duration = .seconds(5),
      publishTimeout: Duration = .seconds(5), identity: String = "nats"
    ) async throws -> NATS {
      try await connect(
        servers, credentials: credentials, tls: tls, connectTimeout: connectTimeout, publishTimeout: publishTimeout,
        identity: identity)
    }

    /// Connects to the first reachable one of several servers, with the options of
    /// ``connect(_:credentials:tls:connectTimeout:publishTimeout:identity:)-(String...,_,_,_,_,_)``
    public static func connect(
      _ servers: [String], credentials: Credentials? = nil, tls: TLS? = nil, connectTimeout: Duration = .seconds(5),
      publishTimeout: Duration = .seconds(5), identity: String = "nats"
    ) async throws -> NATS {
      let end = ContinuousClock.now + min(connectTimeout, .year)
      let options = try ConnectOptions(servers, credentials, tls, within: connectTimeout)
      let engine = try await onOwnThread(until: end, options.lateness) {
        // All steps run on this thread. Tasks might have to wait while other code occupies Swift's
        // pool.
        do {
          let events = ConnectionEvents(options.secrets, options.loginFile)
          let connection = try options.connect(events)
          guard connection.hasHeaders else {
            throw ServerGreeting.lacksHeaders(connection.address, within: end - .now)
          }
          return try Engine.make(
            connection, events, publishTimeout: min(publishTimeout, .year), identity: identity, within: end - .now
          ) { try options.connect(events) }
        } catch let error as TransportError where error.code == .timedOut {
          throw options.lateness  // libnats may end a wait up to a millisecond before `end`
        } catch {
          throw ContinuousClock.now < end ? error : options.lateness
        }
      }
      return NATS(engine)
    }

    /// The transport without a stream. It delivers at most once, and only to current listenings.
    ///
    /// `publish` returns when the message is in the queue of the connection's sending thread. While
    /// the queue is full, `publish` waits. If the server refuses a message later, or three
    /// connections do not take it within 5 seconds each, an incident reports it. A process that
    /// ends without ``close(within:)`` may lose the last messages.
    ///
    /// An id that the publisher did not choose is not sent. Each receiver makes an id of its own
    /// for the message.
    public var plain: NATSTransport { NATSTransport(engine, nil) }

    /// Returns the transport of a stream, which stores messages until they are handled.
    ///
    /// If the stream does not exist, it is created, with file storage. Its window for repeated ids
    /// is two minutes, or `maxAge` if that is shorter. A message counts as stored when the server
    /// has it. The server's configuration (`sync_interval`) and the number of replicas decide when
    /// it is on a disk.
    ///
    /// - Parameters:
    ///   - name: The name of the stream, without spaces, dots or wildcards.
    ///   - subjects: The stored subjects, with the wildcards `*` and `>`.
    ///   - maxAge: The longest time for which a message is kept. With `nil`, an existing stream may
    ///     have any `maxAge`, and a new stream keeps messages without a limit.
    ///   - replicas: The number of servers that store the stream. With `nil`, an existing stream
    ///     may have any number of servers, and a new stream has one server.
    /// - Returns: The transport.
    /// - Throws: ``EventingTransport/TransportError``, with the code
    ///   ``EventingTransport/TransportError/Code/streamDiffers`` if a stream of this name has other
    ///   subjects, another age or another number of replicas, or gives no receipts (`no_ack`).
    public func stream(
      _ name: String, subjects: [String], maxAge: Duration? = nil, replicas: Int? = nil
    ) async throws -> NATSTransport {
      let admin = StreamAdmin(engine)
      try await admin.makeStream(name, subjects, maxAge, replicas)
      return NATSTransport(engine, StreamName(name: name, subjects: subjects))
    }

    /// Returns a transport over a stream that exists, whatever its subjects and options are.
    ///
    /// - Parameter name: The name of the stream.
    /// - Throws: ``EventingTransport/TransportError``, with the code
    ///   ``EventingTransport/TransportError/Code/refused`` if there is none.
    public func stream(_ name: String) async throws -> NATSTransport {
      NATSTransport(engine, StreamName(name: name, subjects: try await StreamAdmin(engine).subjects(of: name)))
    }

    /// A source of what happens outside any call: a lost connection, dropped messages, missing
    /// permissions.
    public var incidents: any EventSource<TransportIncident> { engine.incidents.source }

    /// Ends all subscriptions and responders, waits for their handlers, sends the messages in the
    /// send queue, and closes the connection. Later calls throw.
    ///
    /// Received messages of a stream that no handler has begun go back to the server, which
    /// redelivers them. Other received messages and requests are handled first, within the limit.
    /// Replies that come after the close are lost. When the last responder has returned, an incident
    /// counts them.
    ///
    /// - Parameter limit: The longest wait for handlers. The method returns shortly after the limit
    ///   at the latest, even if the server is unreachable.
    public func close(within limit: Duration = .seconds(10)) async { await engine.close(within: limit) }
  }

  extension NATS: CustomStringConvertible {
    /// The identity.
    public var description: String { "NATS connection \(engine.identity)" }
  }

  /// On a thread of its own, because the closure may block for ever. A cancellation ends the wait
  /// at once. The release of a late result closes its connection.
  private func onOwnThread<Value: Sendable>(
    until end: ContinuousClock.Instant, _ lateness: TransportError, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let result = OneShot<Result<Value, any Error>>()
    Foundation.Thread.detachNewThread { result.set(Result { try body() }) }
    return try await withTaskCancellationHandler {
      try await result.value(until: end, or: .failure(lateness)).get()
    } onCancel: {
      result.set(.failure(CancellationError()))
    }
  }

  /// On a thread of its own, because the closure may block. A cancellation ends the wait at once.
  ///
  /// - Parameter unwanted: Called with a result that comes after a cancellation.
  func onOwnThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value, unwanted: @escaping @Sendable (Value) -> Void = { _ in }
  ) async throws -> Value {
    let result = OneShot<Result<Value, any Error>>()
    Foundation.Thread.detachNewThread {
      let made = Result { try body() }
      if !result.set(made), case .success(let value) = made { unwanted(value) }
    }
    return try await withTaskCancellationHandler {
      try await result.value.get()
    } onCancel: {
      result.set(.failure(CancellationError()))
    }
  }
#endif
