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

  /// Methods may block for seconds.
  // Safe: libnats guards a connection by a mutex, and `raw` never changes.
  @safe final class LibraryConnection: @unchecked Sendable {
    private let raw: OpaquePointer
    let connectionEvents: ConnectionEvents
    private let writeDeadline: Duration

    /// Blocks for about the timeout of the options, or for ever in a TLS handshake.
    init(_ options: ConnectOptions, _ events: ConnectionEvents) throws {
      var made: OpaquePointer?
      try unsafe check(natsOptions_Create(&made), "the options of libnats")
      let raw = unsafe made
      defer { unsafe natsOptions_Destroy(raw) }
      let context = unsafe Unmanaged.passRetained(events)
      var isMade = false
      defer { if !isMade { unsafe context.release() } }  // no callback occurs for a connection that was never made
      try unsafe LibraryConnection.fill(raw, options, context.toOpaque())
      unsafe LibraryConnection.observe(raw, context.toOpaque())
      var connection: OpaquePointer?
      let status = unsafe natsConnection_Connect(&connection, raw)
      guard status == NATS_OK, let connection = unsafe connection else {
        throw options.failure(LibraryError(status).text, lacksTLS: status == NATS_SECURE_CONNECTION_WANTED)
      }
      isMade = true
      unsafe self.raw = connection
      connectionEvents = events
      writeDeadline = options.writeDeadline
    }

    deinit {
      // Safe: this is the last reference to the handle. To destroy it may block.
      nonisolated(unsafe) let raw = unsafe raw
      Foundation.Thread.detachNewThread { unsafe natsConnection_Destroy(raw) }
    }

    private static func fill(
      _ raw: OpaquePointer?, _ options: ConnectOptions, _ context: UnsafeMutableRawPointer
    ) throws {
      try unsafe withStrings(options.servers) { servers in
        try unsafe check(
          natsOptions_SetServers(raw, servers.baseAddress, Int32(servers.count)), "the servers' addresses")
      }
      _ = unsafe natsOptions_SetName(raw, "swift-eventing")
      _ = unsafe natsOptions_SetTimeout(raw, options.millisecondsForEach)
      _ = unsafe natsOptions_SetWriteDeadline(raw, options.writeDeadline.milliseconds)
      _ = unsafe natsOptions_SetAllowReconnect(raw, true)
      _ = unsafe natsOptions_SetMaxReconnect(raw, -1)
      _ = unsafe natsOptions_SetReconnectWait(raw, 100)
      _ = unsafe natsOptions_SetReconnectJitter(raw, 100, 500)
      // While the connection is lost, messages wait in the send queue. If libnats kept them, it
      // would send them without a check to the next server, which may take only smaller ones.
      _ = unsafe natsOptions_SetReconnectBufSize(raw, 0)
      _ = unsafe natsOptions_SetPingInterval(raw, 10_000)
      _ = unsafe natsOptions_SetSendAsap(raw, true)  // otherwise libnats collects messages for up to 1 ms
      switch options.credentials?.kind {
      case .user(let name, let password): _ = unsafe natsOptions_SetUserInfo(raw, name, password)
      case .token(let token): _ = unsafe natsOptions_SetToken(raw, token)
      case .file(let path):
        try unsafe check(
          natsOptions_SetUserCredentialsCallbacks(raw, passJWT, context, passSignature, context),
          "the credentials file \(shownPath(path))")
      case .nkey(let publicKey, let path):
        try unsafe check(
          natsOptions_SetNKey(raw, publicKey, passSignature, context), "the seed file \(shownPath(path))")
      case nil: break
      }
      guard options.isSecure else { return }
      // Without this option libnats ignores `tls://`, and sends the login in clear text. With it,
      // libnats checks the certificate and the host. It trusts the authorities of the system,
      // unless others are given.
      try unsafe check(natsOptions_SetSecure(raw, true), "a libnats with TLS")
      guard let tls = options.tls else { return }
      if let file = tls.authorities {
        try unsafe check(natsOptions_LoadCATrustedCertificates(raw, file), "certificates in \(file)")
      }
      if let file = tls.certificate, let key = tls.key {
        try unsafe check(
          natsOptions_LoadCertificatesChain(raw, file, key), "a certificate in \(file) and its key in \(key)")
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
          guard status != NATS_SLOW_CONSUMER else { return }  // subscriptions count dropped messages
          // libnats stores this error's text for the thread that runs this closure. The text of the
          // connection's last error is only a substitute: that error may be a later one.
          var last = NATS_OK
          let own = unsafe nats_GetLastError(&last).map { unsafe String(cString: $0) } ?? ""
          let text = last == status && !own.isEmpty ? own : unsafe lastText(connection)
          unsafe events(context).fail(text.isEmpty ? unsafe String(cString: natsStatus_GetText(status)) : text)
        }, context)
    }

    /// Then libnats does not connect again.
    var isClosed: Bool { unsafe natsConnection_IsClosed(raw) }
    /// The size is in bytes, and includes headers.
    var largestMessage: Int { Int(unsafe natsConnection_GetMaxPayload(raw)) }
    /// True for version 2.2 or later.
    var hasHeaders: Bool { unsafe natsConnection_HasHeaderSupport(raw) == NATS_OK }
    var address: String {
      var text = [CChar](repeating: 0, count: 1_024)
      _ = unsafe natsConnection_GetConnectedUrl(raw, &text, 1_024)
      return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    var lastError: String { unsafe lastText(raw) }

    /// Waits until the server has received what was sent before.
    func flush(within limit: Duration) throws(LibraryError) {
      try unsafe check(natsConnection_FlushTimeout(raw, limit.milliseconds))
    }

    /// Messages that were not sent may be lost.
    func close() { unsafe natsConnection_Close(raw) }

    func send(_ message: Outgoing) -> Sent {
      var made: OpaquePointer?
      var status = unsafe message.body.withUnsafeBytes { bytes in
        unsafe natsMsg_Create(
          &made, message.subject, message.reply, bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
          Int32(bytes.count))
      }
      guard status == NATS_OK else { return .failed(LibraryError(status).text) }
      defer { unsafe natsMsg_Destroy(made) }
      for (name, value) in message.wireHeaders where status == NATS_OK {
        status = unsafe natsMsgHeader_Set(made, name, value)
      }
      if status == NATS_OK, let id = message.id { status = unsafe natsMsgHeader_Set(made, MessageHeader.id, id) }
      if status == NATS_OK { status = unsafe natsConnection_PublishMsg(raw, made) }
      switch status {
      case NATS_OK: return .sent
      case NATS_CONNECTION_DISCONNECTED, NATS_INSUFFICIENT_BUFFER, NATS_NOT_YET_CONNECTED, NATS_IO_ERROR,
        NATS_STALE_CONNECTION, NATS_CONNECTION_CLOSED:
        return .away
      case NATS_TIMEOUT: return .late(within: writeDeadline)
      default: return .failed(LibraryError(status).text)
      }
    }

    /// The receiver gets one message at a time, on a thread of libnats.
    func makeSubscription(
      _ subject: String, group: String?, _ receiver: SubscriptionReceiver
    ) throws(LibraryError) -> SubscriptionHandle {
      let retained = unsafe Unmanaged.passRetained(receiver)
      var made: OpaquePointer?
      let callback: natsMsgHandler = { _, _, message, context in
        guard let message = unsafe message, let context = unsafe context else { return }
        let arrival = unsafe arrival(message)
        unsafe natsMsg_Destroy(message)
        unsafe Unmanaged<SubscriptionReceiver>.fromOpaque(context).takeUnretainedValue().receive(arrival)
      }
      let status =
        if let group {
          unsafe natsConnection_QueueSubscribe(&made, raw, subject, group, callback, retained.toOpaque())
        } else {
          unsafe natsConnection_Subscribe(&made, raw, subject, callback, retained.toOpaque())
        }
      guard status == NATS_OK, let made = unsafe made else {
        let error = LibraryError(status)
        unsafe retained.release()
        throw error
      }
      // If this call fails, the handle and its context are never freed: messages may still arrive.
      try unsafe check(
        natsSubscription_SetOnCompleteCB(
          made,
          { unsafe Unmanaged<SubscriptionReceiver>.fromOpaque($0!).takeRetainedValue().completed.signal() },
          retained.toOpaque()))
      return unsafe SubscriptionHandle(raw: made)
    }
  }

  // Safe: libnats guards a subscription by a mutex, and `raw` never changes. The owner does not use
  // the handle after `destroy()`.
  @safe struct SubscriptionHandle: @unchecked Sendable {
    fileprivate let raw: OpaquePointer

    var dropped: Int {
      var count: Int64 = 0
      return unsafe natsSubscription_GetDropped(raw, &count) == NATS_OK ? Int(count) : 0
    }

    var limit: Int? {
      var (messages, bytes): (Int32, Int32) = (0, 0)
      return unsafe natsSubscription_GetPendingLimits(raw, &messages, &bytes) == NATS_OK ? Int(messages) : nil
    }

    func setLimit(_ limit: Int?) throws(LibraryError) {
      try unsafe check(natsSubscription_SetPendingLimits(raw, Int32(limit ?? -1), -1))
    }

    func drain(within limit: Duration) -> Bool {
      unsafe natsSubscription_DrainTimeout(raw, limit.milliseconds) == NATS_OK
    }

    /// The completion callback must have come before.
    func destroy() { unsafe natsSubscription_Destroy(raw) }
  }

  private func lastText(_ connection: OpaquePointer?) -> String {
    var text: UnsafePointer<CChar>?
    _ = unsafe natsConnection_GetLastError(connection, &text)
    return unsafe text.map { unsafe String(cString: $0) } ?? ""
  }

  // MARK: Logins

  private let passJWT: natsUserJWTHandler = { target, failure, context in
    unsafe answer(failure) { unsafe target?.pointee = strdup(try unsafe events(context).loginFile.jwt()) }
  }

  /// Called by libnats, which frees the signature.
  private let passSignature: natsSignatureHandler = { failure, target, count, nonce, context in
    unsafe answer(failure) {
      let signature = try unsafe events(context).loginFile.signature(of: nonce.map { unsafe String(cString: $0) } ?? "")
      let copy = unsafe malloc(signature.count)
      unsafe copy?.copyMemory(from: signature, byteCount: signature.count)
      unsafe target?.pointee = copy?.assumingMemoryBound(to: UInt8.self)
      unsafe count?.pointee = Int32(signature.count)
    }
  }

  /// If the closure throws, passes the text of its error.
  private func answer(
    _ failure: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, _ make: () throws -> Void
  ) -> natsStatus {
    do { try make() } catch {
      unsafe failure?.pointee = strdup("\(error)")
      return NATS_ERR
    }
    return NATS_OK
  }

  func signature(of nonce: String, seed: String) throws(LibraryError) -> [UInt8] {
    _ = nats_Open(-1)  // has no effect if libnats is open already
    var signature: UnsafeMutablePointer<UInt8>?
    var count: Int32 = 0
    defer { unsafe free(signature) }
    try unsafe check(nats_Sign(seed, nonce, &signature, &count))
    return unsafe [UInt8](UnsafeBufferPointer(start: signature, count: Int(count)))
  }

  private func events(_ context: UnsafeMutableRawPointer?) -> ConnectionEvents {
    unsafe Unmanaged<ConnectionEvents>.fromOpaque(context!).takeUnretainedValue()
  }

  /// If libnats cannot read the headers, or reads them wrongly, the copy has none, and says why.
  private func arrival(_ raw: OpaquePointer) -> Arrival {
    let subject = unsafe natsMsg_GetSubject(raw)!
    var result = Arrival(subject: unsafe String(cString: subject))
    unsafe result.reply = natsMsg_GetReply(raw).map { unsafe String(cString: $0) }
    let count = Int(unsafe natsMsg_GetDataLength(raw))
    if count > 0, let data = unsafe natsMsg_GetData(raw) {
      unsafe result.body = [UInt8](UnsafeRawBufferPointer(start: data, count: count))
    }
    do throws(Unreadable) {
      _ = try unsafe text(subject, "a subject")
      result.headers = try unsafe headers(raw, subject)
    } catch {
      result.damage = error.reason
    }
    return result
  }

  private struct Unreadable: Error { let reason: String }

  private func headers(
    _ raw: OpaquePointer, _ subject: UnsafePointer<CChar>
  ) throws(Unreadable) -> [String: String] {
    var names: UnsafeMutablePointer<UnsafePointer<CChar>?>?
    var count: Int32 = 0
    let status = unsafe natsMsgHeader_Keys(raw, &names, &count)
    if status == NATS_NOT_FOUND { return [:] }
    guard status == NATS_OK, let names = unsafe names else {
      throw Unreadable(
        reason: "expected headers as NATS has them; libnats says: \(quoted(LibraryError(status).text))")
    }
    defer { unsafe free(names) }
    var result: [String: String] = [:]
    for index in 0..<Int(count) {
      guard let name = unsafe names[index] else { continue }
      unsafe result[try text(name, "a name of a header")] = try value(of: name, in: raw, subject)
    }
    return result
  }

  private func value(
    of name: UnsafePointer<CChar>, in raw: OpaquePointer, _ subject: UnsafePointer<CChar>
  ) throws(Unreadable) -> String {
    let expected = unsafe "expected a header \(escaped(name))"
    var values: UnsafeMutablePointer<UnsafePointer<CChar>?>?
    var count: Int32 = 0
    guard unsafe natsMsgHeader_Values(raw, name, &values, &count) == NATS_OK, let value = unsafe values?[0] else {
      throw Unreadable(reason: "\(expected) with a value; got none")
    }
    defer { unsafe free(values) }
    if count > 1 { throw Unreadable(reason: "\(expected) with one value; got \(count)") }
    // libnats 3.4 to 3.14 decodes headers in the memory of the message, between its subject and its
    // body: it ends names and values with a zero byte. Before 3.11 it takes the next line for the
    // value of a header without one, which this code finds by the line break in front of the value.
    // The names of a status that the server sends are elsewhere.
    if nats_GetVersionNumber() < 0x30F00, let body = unsafe natsMsg_GetData(raw), unsafe subject < name,
      unsafe name < body
    {
      var place = unsafe name + strlen(name) + 1
      while unsafe isspace(Int32(place.pointee)) != 0, unsafe place.pointee != lineFeed { unsafe place += 1 }
      if unsafe place.pointee == lineFeed { throw Unreadable(reason: "\(expected) with a value; got none") }
      guard unsafe place == value else { throw Unreadable(reason: "\(expected) on one line; got several") }
      unsafe place += strlen(place) + 1
      while unsafe place.pointee != lineFeed, unsafe isspace(Int32(place.pointee)) != 0 { unsafe place += 1 }
      if unsafe place.pointee != lineFeed { throw Unreadable(reason: "\(expected) without zero bytes; got one") }
    }
    return try unsafe text(value, "a value of the header \(escaped(name))")
  }

  private let lineFeed: CChar = 10

  /// Another program may have written any bytes.
  private func text(_ bytes: UnsafePointer<CChar>, _ what: @autoclosure () -> String) throws(Unreadable) -> String {
    if let text = unsafe String(validatingCString: bytes) { return text }
    throw Unreadable(reason: unsafe "expected \(what()) in UTF-8; got \(escaped(bytes))")
  }

  /// Bytes outside of ASCII are written as `\xff`.
  private func escaped(_ text: UnsafePointer<CChar>) -> String {
    let bytes = unsafe UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) }
    return quoted(bytes.map { $0 < 128 ? "\(Unicode.Scalar($0))" : "\\x\(String($0, radix: 16))" }.joined())
  }

  extension LibraryError {
    /// The error of the last call of libnats on this thread.
    fileprivate init(_ status: natsStatus) {
      var last = NATS_OK
      let text = unsafe nats_GetLastError(&last).map { unsafe String(cString: $0) } ?? ""
      self.init(
        text: withoutCredentials(text.isEmpty ? unsafe String(cString: natsStatus_GetText(status)) : text),
        isLate: status == NATS_TIMEOUT)
    }
  }

  private func check(_ status: natsStatus) throws(LibraryError) {
    if status != NATS_OK { throw LibraryError(status) }
  }

  private func check(_ status: natsStatus, _ expected: String) throws {
    if status != NATS_OK { throw LibraryError(status).refused(expected) }
  }
#endif
