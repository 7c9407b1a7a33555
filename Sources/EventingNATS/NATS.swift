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
  /// The library libnats connects again by itself, for ever. In the meantime `publish` waits, for
  /// at most the time limit of the connection.
  ///
  /// All methods may be called from any thread and inside handlers. The connection closes when
  /// ``close(within:)`` is called, or with the last reference to it, to its transports and to their
  /// subscriptions.
  public final class NATS: Sendable, TransportConnection {
    let engine: Engine

    private init(_ engine: Engine) { self.engine = engine }

    /// Connects to the first server that can be reached.
    ///
    /// - Parameters:
    ///   - servers: The addresses: `nats://host:4222`, or `tls://host:4222` for TLS. If one of them
    ///     says `tls://`, no server is taken without TLS.
    ///   - credentials: The credentials; `nil` if the server needs none.
    ///   - tls: The TLS options, with which no server is taken without TLS; `nil` for those of the
    ///     system, where an address says `tls://`. Nothing is sent before the certificate and the
    ///     host were checked.
    ///   - connectTimeout: The longest wait of this call, for all servers together. Each of several
    ///     servers gets its part of it. Later connections that the library makes by itself have the
    ///     same limit for each server.
    ///   - publishTimeout: The longest wait of `publish`, for room, for the server, and until the
    ///     message is stored.
    ///   - identity: The name of the cluster for forwarding: equal in all processes. Only a process
    ///     that connects to two clusters needs two names.
    /// - Returns: The connection.
    /// - Throws: ``EventingTransport/TransportError`` that names the server and what is wrong:
    ///   no server, credentials that it refuses, certificates that one side does not trust. The
    ///   code is ``EventingTransport/TransportError/Code/timedOut`` after `connectTimeout`.
    public static func connect(
      _ servers: String..., credentials: Credentials? = nil, tls: TLS? = nil, connectTimeout: Duration = .seconds(5),
      publishTimeout: Duration = .seconds(5), identity: String = "nats"
    ) async throws -> NATS {
      try await connect(
        servers, credentials: credentials, tls: tls, connectTimeout: connectTimeout, publishTimeout: publishTimeout,
        identity: identity)
    }

    /// Connects to the first of several servers that can be reached, with the options of
    /// ``connect(_:credentials:tls:connectTimeout:publishTimeout:identity:)-(String...,_,_,_,_,_)``
    public static func connect(
      _ servers: [String], credentials: Credentials? = nil, tls: TLS? = nil, connectTimeout: Duration = .seconds(5),
      publishTimeout: Duration = .seconds(5), identity: String = "nats"
    ) async throws -> NATS {
      let end = ContinuousClock.now + min(connectTimeout, .year)
      let options = try ConnectOptions(servers, credentials, tls, within: connectTimeout)
      let engine = try await onOwnThread(until: end, options.lateness) {
        // All on this thread: other code may flood Swift's pool, and take none of the time.
        do {
          let events = ConnectionEvents(options.secrets)
          let connection = try options.connect(events)
          guard connection.hasHeaders else {
            throw TransportError(.refused, "expected nats-server 2.2 or later, which has headers; got an older one")
          }
          return try Engine.make(
            connection, events, publishTimeout: min(publishTimeout, .year), identity: identity, within: end - .now)
        } catch let error as TransportError where error.code == .timedOut {
          throw options.lateness  // libnats ends a wait up to a millisecond before `end`
        } catch {
          throw ContinuousClock.now < end ? error : options.lateness
        }
      }
      return NATS(engine)
    }

    /// The transport without a stream: at most once, and only to processes that listen.
    ///
    /// `publish` returns when the message is handed to the thread of the connection that sends, and
    /// waits when many messages wait there. If the server refuses one later, an incident tells of
    /// it. A process that ends without ``close(within:)`` may lose the last ones.
    public var plain: NATSTransport { NATSTransport(engine, nil) }

    /// Returns the transport of a stream, which stores messages until they are handled.
    ///
    /// A stream that does not exist is made, with file storage and a window of two minutes for
    /// repeated ids. Stored means that the server has it: when it is on the disk is for the
    /// server's configuration (`sync_interval`) and the number of replicas to say.
    ///
    /// - Parameters:
    ///   - name: The name: no spaces, dots or wildcards.
    ///   - subjects: The stored subjects, with the wildcards `*` and `>`.
    ///   - maxAge: The longest time for which a message is kept; `nil` for any.
    ///   - replicas: The number of servers that store it; `nil` for any: one in a new stream.
    /// - Returns: The transport.
    /// - Throws: ``EventingTransport/TransportError``, with the code
    ///   ``EventingTransport/TransportError/Code/streamDiffers`` if a stream of this name has other
    ///   subjects, another age or other replicas.
    public func stream(
      _ name: String, subjects: [String], maxAge: Duration? = nil, replicas: Int? = nil
    ) async throws -> NATSTransport {
      let admin = StreamAdmin(engine)
      try await admin.makeStream(name, subjects, maxAge, replicas)
      return NATSTransport(engine, StreamName(name: name, subjects: subjects))
    }

    /// The source of what happens outside any call: a lost connection, dropped messages,
    /// permissions.
    public var incidents: any EventSource<TransportIncident> { engine.incidents.source }

    /// Ends all subscriptions and responders, as their `drain(within:)` does, sends what waits, and
    /// closes the connection. Later calls throw.
    ///
    /// - Parameter limit: The longest wait for handlers. Returns a little later at most, whether
    ///   the server can be reached or not.
    public func close(within limit: Duration = .seconds(10)) async { await engine.close(within: limit) }
  }

  extension NATS: CustomStringConvertible {
    /// The identity.
    public var description: String { "NATS connection \(engine.identity)" }
  }

  /// Runs a call that may block for ever on a thread of its own, and waits for it until a deadline.
  ///
  /// A result that comes later is released, and so a connection closed.
  private func onOwnThread<Value: Sendable>(
    until end: ContinuousClock.Instant, _ lateness: TransportError, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let result = OneShot<Result<Value, any Error>>()
    let timer = Scheduling.cancelledWhenDropped {
      if (try? await Task.sleep(until: end)) != nil { result.set(.failure(lateness)) }
    }
    Foundation.Thread.detachNewThread { result.set(Result { try body() }) }
    defer { withExtendedLifetime(timer) {} }
    return try await result.value.get()
  }

  /// Runs a call that may block on a thread of its own.
  func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Foundation.Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
  }
#endif
