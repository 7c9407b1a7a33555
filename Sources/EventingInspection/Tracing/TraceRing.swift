import Eventing

/// The ring buffer of a trace: the last records, in chunks of fixed size. If the buffer is full, a
/// new chunk replaces the oldest one.
///
/// A writer locks a mutex for a few instructions per record. A reader locks the mutex to retain the
/// full chunks and to copy the current one, so a writer waits at most for these retains and a copy
/// of 64 KB.
final class TraceRing: Sendable {
  /// The largest number of bytes of a chunk, its texts and names included.
  static let chunkBytes = 65_536

  /// The names of a handler and of its lane. The lane has none if no other handler shares it.
  struct HandlerNames: Sendable {
    var handler = ""
    var lane: String?
  }

  /// Records, with the texts and the names that belong to them.
  struct Chunk: Sendable {
    /// The number of chunks before this one, the overwritten ones included.
    var number = 0
    var records: [TraceRecord] = []
    var payloads: [String] = []
    /// The names of the handlers of the chunk's records.
    var handlers: [UInt64: HandlerNames] = [:]
    /// A cache of handlers that have a name in `handlers`. The index is the number of the handler
    /// modulo 64. A lookup here costs a tenth of one in the dictionary.
    var named = [UInt64](repeating: 0, count: 64)
    /// The bytes of payloads and names.
    var textBytes = 0
    /// The number of records that tell that an occurrence or a call begins, or that a handler was
    /// not called. Withdrawn calls do not count.
    ///
    /// An event withdraws the call of a forward if the forward turns out to forward nothing. The
    /// trace has been told by then that the call begins. That record stays, and a record of the
    /// kind `callWithdrawn` follows.
    var beginnings = 0

    init() {
      records.reserveCapacity(TraceRing.chunkBytes / MemoryLayout<TraceRecord>.stride)
    }

    /// Whether a record fits.
    var hasRoom: Bool {
      textBytes + (records.count + 1) * MemoryLayout<TraceRecord>.stride <= TraceRing.chunkBytes
    }

    /// Returns whether a handler has its name in `handlers`.
    mutating func hasName(of handler: UInt64) -> Bool {
      let place = Int(handler % 64)
      if named[place] == handler { return true }
      guard handlers[handler] != nil else { return false }
      named[place] = handler
      return true
    }

    /// The chunk with its arrays copied: an array that is changed in place under a mutex must not
    /// be read without the mutex.
    var copy: Chunk {
      var copy = self
      copy.records = records.map { record in record }
      copy.payloads = payloads.map { payload in payload }
      copy.handlers = Dictionary(uniqueKeysWithValues: handlers.map { ($0.key, $0.value) })
      return copy
    }
  }

  fileprivate struct State {
    var filled = Deque<Chunk>()
    var current = Chunk()
    /// The number of beginnings in the chunks that were overwritten: see ``Chunk/beginnings``.
    var overwritten = 0
    /// The number of beginnings in the chunks of `filled`: see ``Chunk/beginnings``.
    var filledCount = 0

    /// Subtracts a withdrawn call from the ``Chunk/beginnings`` of the chunk that has the record of
    /// the beginning of the call. ``Chunk/beginnings`` tells what a withdrawn call is.
    ///
    /// Looks in the current chunk and in the one before, because a call is withdrawn directly after
    /// the record of its beginning. If other threads have filled more chunks since, the call stays
    /// counted.
    mutating func withdraw(_ call: UInt64) {
      if current.withdraw(call) { return }
      var isFound = false
      filled.updateLast { chunk in isFound = chunk.withdraw(call) }
      if isFound { filledCount -= 1 }
    }
  }

  /// The largest number of full chunks beside the current one.
  private let most: Int
  private let state = Guarded(State())

  init(megabytes: Int) {
    most = max(1, min(64, megabytes)) * 1_048_576 / TraceRing.chunkBytes - 1
  }

  /// The number of trace records in the ring that tell that an occurrence or a call begins, or that
  /// a handler was not called. If a forward forwards nothing, the event withdraws the call of the
  /// forward. Withdrawn calls do not count: see ``Chunk/beginnings``.
  var count: Int { state.withLock { $0.filledCount + $0.current.beginnings } }
  /// The number of overwritten trace records that told that an occurrence or a call begins, or that
  /// a handler was not called. Withdrawn calls do not count: see ``Chunk/beginnings``.
  var overwritten: Int { state.withLock { $0.overwritten } }

  /// Returns the chunks that the ring holds now, the oldest first.
  ///
  /// - Parameter first: The number of the first chunk that is wanted.
  func contents(from first: Int = 0) -> (chunks: [Chunk], overwritten: Int) {
    state.withLock { state in
      var chunks: [Chunk] = []
      state.filled.forEach { chunk in if chunk.number >= first { chunks.append(chunk) } }
      return (chunks + [state.current.copy], state.overwritten)
    }
  }

  /// The work left after a try to add a record. `nothing`: the record was added. `names`: the next
  /// try must bring the names of the handler. `room`: the next try needs a new chunk.
  private enum Rest { case nothing, names, room }

  /// Adds a record.
  ///
  /// - Parameters:
  ///   - record: The record.
  ///   - payload: The text of the payload; `nil` for none.
  ///   - names: A closure that returns the names of the handler. It is called without the mutex,
  ///     and only if two things hold: the record tells that a call of the handler begins or that
  ///     the handler was not called, and the current chunk does not have the handler's names yet.
  func append(_ record: TraceRecord, payload: String? = nil, names: () -> HandlerNames = { HandlerNames() }) {
    // The record and the names are added under one lock: otherwise a new chunk could begin between
    // the two.
    var known: HandlerNames?
    while true {
      switch add(record, payload, known) {
      case .nothing: return
      case .names: known = names()
      case .room: makeRoom()
      }
    }
  }

  private func add(_ record: TraceRecord, _ payload: String?, _ names: HandlerNames?) -> Rest {
    state.withLock { state in
      guard state.current.hasRoom else { return .room }
      if record.handler != 0, record.kind.isBeginning, !state.current.hasName(of: record.handler) {
        guard let names else { return .names }
        state.current.add(names, of: record.handler)
      }
      state.current.add(record, payload)
      if record.kind == .callWithdrawn { state.withdraw(record.call) }
      return .nothing
    }
  }

  /// Begins a new chunk if the current one is full.
  @inline(never) private func makeRoom() {
    // The new chunk is allocated before the lock, and the overwritten chunk is released after the
    // unlock. So no writer waits while memory is allocated or freed.
    let new = Chunk()
    let gone = state.withLock { state -> Chunk? in
      guard !state.current.hasRoom else { return nil }
      state.filled.append(state.current)
      state.filledCount += state.current.beginnings
      let number = state.current.number + 1
      state.current = new
      state.current.number = number
      guard state.filled.count > most, let gone = state.filled.popFirst() else { return nil }
      state.overwritten += gone.beginnings
      state.filledCount -= gone.beginnings
      return gone
    }
    withExtendedLifetime(gone) {}
  }
}

extension TraceRing.Chunk {
  fileprivate mutating func add(_ record: TraceRecord, _ payload: String?) {
    if let payload {
      payloads.append(payload)
      textBytes += payload.utf8.count + MemoryLayout<String>.stride
      var record = record
      record.payload = UInt32(payloads.count)
      records.append(record)
    } else {
      records.append(record)
    }
    if record.kind.isBeginning { beginnings += 1 }
  }

  fileprivate mutating func add(_ names: TraceRing.HandlerNames, of handler: UInt64) {
    handlers[handler] = names
    textBytes += names.handler.utf8.count + (names.lane?.utf8.count ?? 0) + 80
  }

  /// Subtracts a withdrawn call from `beginnings` if this chunk has the record of the call's
  /// beginning. Returns whether the chunk has that record.
  fileprivate mutating func withdraw(_ call: UInt64) -> Bool {
    guard records.last(where: { $0.kind == .callBegan && $0.call == call }) != nil else { return false }
    beginnings -= 1
    return true
  }
}
