#if NATS
  import CNats
  import Eventing
  import EventingTransport
  import Foundation

  // This is the only file that uses the C library libnats. These rules hold in all of it:
  //
  // - Each handle belongs to one object. Messages are copied and freed in their callback.
  // - A subscription is first drained, and destroyed after its completion callback. If it were
  //   destroyed earlier, messages that arrive could use freed memory (libnats 3.4.1).
  // - The last callback of a handle releases the context of all its callbacks: for a subscription
  //   the completion callback, for a connection the closed callback.
  // - The error callback never uses the subscription that it receives, which may be freed already.
  // - libnats stores the text of the last error for each thread, so the text is read at once.

  /// A connection of libnats. Calls of its methods may block for seconds.
  // Safe: libnats guards a connection by a mutex, and `raw` never changes.
  @safe final class LibraryConnection: @unchecked Sendable {
    private let raw: OpaquePointer
    private let connectionEvents: ConnectionEvents
    private let writeDeadline: Duration

    /// Connects. Blocks for about the timeout of the options, or for ever in a TLS handshake.
    init(_ options: ConnectOptions, _ events: ConnectionEvents) throws {
      var made: OpaquePointer?
      try unsafe check(natsOptions_Create(&made), .refused, "the options of libnats")
      let raw = unsafe made
      defer { unsafe natsOptions_Destroy(raw) }
      let context = unsafe Unmanaged.passRetained(events)
      do { try unsafe LibraryConnection.fill(raw, options, context.toOpaque()) } catch {
        unsafe context.release()
        throw error
      }
      unsafe LibraryConnection.observe(raw, context.toOpaque())
      var connection: OpaquePointer?
      let status = unsafe natsConnection_Connect(&connection, raw)
      guard status == NATS_OK, let connection = unsafe connection else {
        let text = libraryError(status)
        unsafe context.release()  // no callback occurs for a connection that was never made
        throw options.failure(text, lacksTLS: status == NATS_SECURE_CONNECTION_WANTED)
      }
      unsafe self.raw = connection
      connectionEvents = events
      writeDeadline = options.writeDeadline
    }

    deinit {
      // Safe: no other reference to the handle exists any more. Destroying it may block, so a new
      // thread does it.
      nonisolated(unsafe) let raw = unsafe raw
      Foundation.Thread.detachNewThread { unsafe natsConnection_Destroy(raw) }
    }

    private static func fill(
      _ raw: OpaquePointer?, _ options: ConnectOptions, _ context: UnsafeMutableRawPointer
    ) throws {
      try unsafe withStrings(options.servers) { servers in
        try unsafe check(
          natsOptions_SetServers(raw, servers.baseAddress, Int32(servers.count)), .refused, "the servers' addresses")
      }
      _ = unsafe natsOptions_SetName(raw, "swift-eventing")
      _ = unsafe natsOptions_SetTimeout(raw, options.millisecondsForEach)
      _ = unsafe natsOptions_SetWriteDeadline(raw, options.writeDeadline.milliseconds)
      _ = unsafe natsOptions_SetAllowReconnect(raw, true)
      _ = unsafe natsOptions_SetMaxReconnect(raw, -1)
      _ = unsafe natsOptions_SetReconnectWait(raw, 100)
      _ = unsafe natsOptions_SetReconnectJitter(raw, 100, 500)
      _ = unsafe natsOptions_SetPingInterval(raw, 10_000)
      _ = unsafe natsOptions_SetSendAsap(raw, true)  // otherwise libnats collects messages for up to 1 ms
      switch options.credentials?.kind {
      case .user(let name, let password): _ = unsafe natsOptions_SetUserInfo(raw, name, password)
      case .token(let token): _ = unsafe natsOptions_SetToken(raw, token)
      case .file(let path):
        try unsafe check(
          natsOptions_SetUserCredentialsCallbacks(raw, passJWT, context, passSignature, context), .refused,
          "the credentials file \(shownPath(path))")
      case .nkey(let publicKey, let path):
        try unsafe check(
          natsOptions_SetNKey(raw, publicKey, passSignature, context), .refused, "the seed file \(shownPath(path))")
      case nil: break
      }
      guard options.isSecure else { return }
      // Without this option libnats ignores `tls://`, and sends the login in clear text. With it,
      // libnats checks the certificate and the host. It trusts the authorities of the system,
      // unless others are given.
      try unsafe check(natsOptions_SetSecure(raw, true), .refused, "a libnats with TLS")
      guard let tls = options.tls else { return }
      if let file = tls.authorities {
        try unsafe check(natsOptions_LoadCATrustedCertificates(raw, file), .refused, "certificates in \(file)")
      }
      if let file = tls.certificate, let key = tls.key {
        try unsafe check(
          natsOptions_LoadCertificatesChain(raw, file, key), .refused, "a certificate in \(file) and its key in \(key)")
      }
    }

    private static func observe(_ raw: OpaquePointer?, _ context: UnsafeMutableRawPointer) {
      _ = unsafe natsOptions_SetDisconnectedCB(raw, { _, context in unsafe events(context).tell(.lost) }, context)
      _ = unsafe natsOptions_SetReconnectedCB(raw, { _, context in unsafe events(context).tell(.reconnected) }, context)
      _ = unsafe natsOptions_SetClosedCB(
        raw,
        { _, context in unsafe Unmanaged<ConnectionEvents>.fromOpaque(context!).takeRetainedValue().tell(.closed) },
        context)
      _ = unsafe natsOptions_SetErrorHandler(
        raw,
        { connection, _, status, context in
          guard status != NATS_SLOW_CONSUMER else { return }  // dropped messages are counted elsewhere
          // The connection has only the text of its last error, which may be a later one. libnats
          // makes the text of this error that of this thread.
          var last = NATS_OK
          let own = unsafe nats_GetLastError(&last).map { unsafe String(cString: $0) } ?? ""
          let text = last == status && !own.isEmpty ? own : unsafe lastText(connection)
          unsafe events(context).fail(text.isEmpty ? unsafe String(cString: natsStatus_GetText(status)) : text)
        }, context)
    }

    /// The size of the server's largest message, including headers.
    var largestMessage: Int { Int(unsafe natsConnection_GetMaxPayload(raw)) }
    /// Whether the server supports headers: version 2.2 or later.
    var hasHeaders: Bool { unsafe natsConnection_HasHeaderSupport(raw) == NATS_OK }
    /// The address of the server.
    var address: String {
      var text = [CChar](repeating: 0, count: 1_024)
      let status = unsafe text.withUnsafeMutableBufferPointer {
        unsafe natsConnection_GetConnectedUrl(raw, $0.baseAddress, $0.count)
      }
      return status == NATS_OK
        ? String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : ""
    }
    /// Waits until the server has received everything that was sent before. Returns false after the
    /// time limit.
    @discardableResult func flush(milliseconds: Int64) -> Bool { status(ofFlush: milliseconds) == NATS_OK }

    private func status(ofFlush milliseconds: Int64) -> natsStatus {
      unsafe natsConnection_FlushTimeout(raw, max(1, milliseconds))
    }

    /// Closes the connection. Messages that were not sent may be lost.
    func close() { unsafe natsConnection_Close(raw) }

    /// The result of a call of ``send(_:)``.
    enum Sent {
      case sent
      /// The connection is lost, and the message was not sent.
      case away
      /// The socket did not take the message in time, and libnats has ended the connection.
      case late(within: Duration)
      /// The connection was closed for ever, by this process or by the server.
      case closed
      case failed(String)
    }

    /// Sends a message through the socket of libnats.
    func send(_ message: Outgoing) -> Sent {
      var made: OpaquePointer?
      var status = unsafe message.body.withUnsafeBytes { bytes in
        unsafe natsMsg_Create(
          &made, message.subject, message.reply, bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
          Int32(bytes.count))
      }
      guard status == NATS_OK else { return .failed(libraryError(status)) }
      defer { unsafe natsMsg_Destroy(made) }
      for (name, value) in message.wireHeaders where status == NATS_OK {
        status = unsafe natsMsgHeader_Set(made, name, value)
      }
      if status == NATS_OK, let id = message.id { status = unsafe natsMsgHeader_Set(made, MessageHeader.id, id) }
      if status == NATS_OK { status = unsafe natsConnection_PublishMsg(raw, made) }
      switch status {
      case NATS_OK: return .sent
      case NATS_CONNECTION_DISCONNECTED, NATS_INSUFFICIENT_BUFFER, NATS_NOT_YET_CONNECTED, NATS_IO_ERROR,
        NATS_STALE_CONNECTION:
        return .away
      case NATS_TIMEOUT: return .late(within: writeDeadline)
      case NATS_CONNECTION_CLOSED: return .closed
      default: return .failed(libraryError(status))
      }
    }

    /// Subscribes, and waits until the server has confirmed it. Blocks.
    ///
    /// - Parameters:
    ///   - subject: The subject, which may have wildcards.
    ///   - group: The group.
    ///   - limit: The largest number of messages in the buffer of libnats; `nil` for no limit.
    ///   - wait: The longest wait for the server.
    ///   - receive: A closure that is called with one message at a time, on a thread of libnats. It
    ///     must not block.
    func subscribe(
      _ subject: String, group: String?, limit: Int?, within wait: Duration = .seconds(3),
      _ receive: @escaping @Sendable (Arrival) -> Void
    ) throws -> LibrarySubscription {
      let (watch, lastBefore) = (connectionEvents.watchErrors(), unsafe lastText(raw))  // in this order
      defer { connectionEvents.endWatch(watch) }
      let context = SubscriptionContext(receive)
      let retained = unsafe Unmanaged.passRetained(context)
      var made: OpaquePointer?
      let callback: natsMsgHandler = { _, _, message, context in
        guard let message = unsafe message, let context = unsafe context else { return }
        let arrival = unsafe arrival(message)
        unsafe natsMsg_Destroy(message)
        unsafe Unmanaged<SubscriptionContext>.fromOpaque(context).takeUnretainedValue().receive(arrival)
      }
      let status =
        if let group {
          unsafe natsConnection_QueueSubscribe(&made, raw, subject, group, callback, retained.toOpaque())
        } else {
          unsafe natsConnection_Subscribe(&made, raw, subject, callback, retained.toOpaque())
        }
      guard status == NATS_OK, let made = unsafe made else {
        let error = failure(status, subject)
        unsafe retained.release()
        throw error
      }
      let ends = unsafe natsSubscription_SetOnCompleteCB(
        made,
        { unsafe Unmanaged<SubscriptionContext>.fromOpaque($0!).takeRetainedValue().completed.signal() },
        retained.toOpaque())
      // Without the completion callback, the handle and its context are never freed: messages may
      // still arrive.
      guard ends == NATS_OK else { throw failure(ends, subject) }
      let subscription = unsafe LibrarySubscription(made, self, context.completed)
      let limited = unsafe natsSubscription_SetPendingLimits(made, Int32(limit ?? -1), -1)
      guard limited == NATS_OK else {
        let error = failure(limited, subject)
        subscription.end()
        throw error
      }
      let flushed = self.status(ofFlush: wait.milliseconds)
      guard flushed == NATS_OK else {
        subscription.end()
        throw TransportError(
          flushed == NATS_TIMEOUT ? .timedOut : .refused,
          "expected the server to take a subscription to \(subject) within \(wait); it did not")
      }
      if let error = watch.refusal(of: subject, last: unsafe lastText(raw), before: lastBefore) {
        subscription.end()
        throw TransportError(
          .refused,
          "expected the permission to subscribe to \(subject); the server says: \(connectionEvents.secrets.hide(in: error))"
        )
      }
      return subscription
    }

    /// Returns the error for a failed call of libnats.
    private func failure(_ status: natsStatus, _ subject: String) -> TransportError {
      TransportError(.refused, "expected to subscribe to \(subject); libnats says: \(libraryError(status))")
    }
  }

  /// A subscription of libnats.
  // Safe: libnats guards a subscription by a mutex, and `raw` never changes. `ending` guards its
  // end.
  @safe final class LibrarySubscription: @unchecked Sendable {
    private let raw: OpaquePointer
    private let connection: LibraryConnection
    private let completed: DispatchSemaphore
    private let ending = Guarded(SubscriptionEnding())

    fileprivate init(_ raw: OpaquePointer, _ connection: LibraryConnection, _ completed: DispatchSemaphore) {
      unsafe self.raw = raw
      self.connection = connection
      self.completed = completed
    }

    deinit { end() }

    /// The number of messages that libnats has dropped because its buffer was full.
    var dropped: Int {
      // Under the mutex, so that the handle is not destroyed in the meantime.
      ending.withLock { ending in ending.hasBegun ? ending.dropped : droppedNow }
    }

    /// The number of messages that libnats has dropped. `raw` must not belong to another thread.
    private var droppedNow: Int {
      var count: Int64 = 0
      return unsafe natsSubscription_GetDropped(raw, &count) == NATS_OK ? Int(count) : 0
    }

    /// Removes the limit of the buffer, so that libnats drops no more messages, and returns the
    /// number of those before.
    private func lastDropped() -> Int {
      _ = unsafe natsSubscription_SetPendingLimits(raw, -1, -1)
      return droppedNow
    }

    /// The largest number of messages in the buffer of libnats; `nil` after the end.
    var limit: Int? {
      ending.withLock { ending in
        var (messages, bytes): (Int32, Int32) = (0, 0)
        if ending.hasBegun { return nil }
        return unsafe natsSubscription_GetPendingLimits(raw, &messages, &bytes) == NATS_OK ? Int(messages) : nil
      }
    }

    /// Ends the subscription. Returns at once, and further messages may arrive for a short time. A
    /// closure for a step that is over is called at once, on this thread.
    ///
    /// - Parameters:
    ///   - next: A closure that is called on another thread, when the end is enqueued for sending.
    ///   - delivered: A closure that is called on another thread, when the callback has received
    ///     all messages that the server had sent.
    func end(
      _ next: @escaping @Sendable () -> Void = {}, delivered: @escaping @Sendable () -> Void = {}
    ) {
      let (isFirst, due) = ending.withLock { ending in
        if !ending.hasBegun { ending.dropped = lastDropped() }
        return ending.begin(next, delivered)
      }
      for closure in due { closure() }
      guard isFirst else { return }
      // Safe: from here on, only the new thread uses the handle.
      nonisolated(unsafe) let raw = unsafe raw
      Foundation.Thread.detachNewThread { [connection, completed, ending] in
        let drains = unsafe natsSubscription_DrainTimeout(raw, 2_000) == NATS_OK
        ending.callAll { $0.enqueued() }
        // It does not drain if the connection is closed.
        if !drains { ending.callAll { $0.delivered() } }
        // If the completion callback never runs, the subscription is not destroyed: its message
        // callback may still run.
        let isComplete = completed.wait(timeout: .now() + 60) == .success
        ending.callAll { $0.delivered() }
        if isComplete { unsafe natsSubscription_Destroy(raw) }
        withExtendedLifetime(connection) {}
      }
    }
  }

  private final class SubscriptionContext: Sendable {
    let receive: @Sendable (Arrival) -> Void
    let completed = DispatchSemaphore(value: 0)
    init(_ receive: @escaping @Sendable (Arrival) -> Void) { self.receive = receive }
  }

  /// Returns the text of the last error of a connection.
  private func lastText(_ connection: OpaquePointer?) -> String {
    var text: UnsafePointer<CChar>?
    _ = unsafe natsConnection_GetLastError(connection, &text)
    return unsafe text.map { unsafe String(cString: $0) } ?? ""
  }

  // MARK: Logins

  /// Passes the JWT of a user to libnats.
  private let passJWT: natsUserJWTHandler = { target, failure, context in
    do {
      unsafe target?.pointee = strdup(try unsafe events(context).loginFile.jwt())
      return NATS_OK
    } catch {
      unsafe failure?.pointee = strdup("\(error)")
      return NATS_ERR
    }
  }

  /// Signs the nonce of the server.
  private let passSignature: natsSignatureHandler = { failure, target, count, nonce, context in
    do {
      let seed = try unsafe events(context).loginFile.seed()
      var signature: UnsafeMutablePointer<UInt8>?
      let status = unsafe nats_Sign(seed, nonce, &signature, count)
      guard status == NATS_OK, let signature = unsafe signature else { return status }
      // libnats 3.4.1 would send no signature, and the server would refuse the login. The next
      // connection has another nonce.
      if unsafe signature.pointee == 0 {
        unsafe free(signature)
        unsafe failure?.pointee = strdup(LoginFile.unsendable)
        return NATS_ERR
      }
      unsafe target?.pointee = signature
      return NATS_OK
    } catch {
      unsafe failure?.pointee = strdup("\(error)")
      return NATS_ERR
    }
  }

  /// Returns the first byte of a signature, for tests.
  func firstByteOfSignature(_ nonce: String, seed: String) -> UInt8? {
    var signature: UnsafeMutablePointer<UInt8>?
    var count: Int32 = 0
    _ = nats_Open(-1)
    guard unsafe nats_Sign(seed, nonce, &signature, &count) == NATS_OK else { return nil }
    defer { unsafe free(signature) }
    return unsafe signature?.pointee
  }

  private func events(_ context: UnsafeMutableRawPointer?) -> ConnectionEvents {
    unsafe Unmanaged<ConnectionEvents>.fromOpaque(context!).takeUnretainedValue()
  }

  /// Returns a copy of a message.
  private func arrival(_ raw: OpaquePointer) -> Arrival {
    var result = Arrival(subject: unsafe String(cString: natsMsg_GetSubject(raw)))
    unsafe result.reply = natsMsg_GetReply(raw).map { unsafe String(cString: $0) }
    let count = Int(unsafe natsMsg_GetDataLength(raw))
    if count > 0, let data = unsafe natsMsg_GetData(raw) {
      unsafe result.body = [UInt8](UnsafeRawBufferPointer(start: data, count: count))
    }
    var names: UnsafeMutablePointer<UnsafePointer<CChar>?>?
    var nameCount: Int32 = 0
    let status = unsafe natsMsgHeader_Keys(raw, &names, &nameCount)
    if status != NATS_OK, status != NATS_NOT_FOUND {
      result.damage = "expected headers as NATS has them; libnats says: \(quoted(libraryError(status)))"
    }
    guard status == NATS_OK, let names = unsafe names else { return result }
    for index in 0..<Int(nameCount) {
      var value: UnsafePointer<CChar>?
      guard let name = unsafe names[index], unsafe natsMsgHeader_Get(raw, name, &value) == NATS_OK else { continue }
      unsafe result.headers[String(cString: name)] = value.map { unsafe String(cString: $0) } ?? ""
    }
    unsafe free(names)
    return result
  }

  /// Returns the error of the last call on this thread, without credentials.
  private func libraryError(_ status: natsStatus) -> String {
    var last = NATS_OK
    let text = unsafe nats_GetLastError(&last).map { unsafe String(cString: $0) } ?? ""
    return withoutCredentials(text.isEmpty ? unsafe String(cString: natsStatus_GetText(status)) : text)
  }

  private func check(_ status: natsStatus, _ code: TransportError.Code, _ expected: String) throws {
    if status == NATS_OK { return }
    throw TransportError(code, "expected \(expected); libnats says: \(libraryError(status))")
  }

  /// Calls a closure with copies of strings as C strings.
  private func withStrings(
    _ strings: [String], _ body: (UnsafeMutableBufferPointer<UnsafePointer<CChar>?>) throws -> Void
  ) rethrows {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    var pointers = unsafe copies.map { unsafe UnsafePointer<CChar>($0) }
    try unsafe pointers.withUnsafeMutableBufferPointer { try unsafe body($0) }
  }
#endif
