import Eventing

/// Chunks of records. A new one replaces the oldest one of a full buffer.
///
/// A writer locks a mutex for a few instructions per record. A reader retains the full chunks and
/// copies the current one under it, so a writer waits at most for that, a copy of 64 KB.
final class TraceRing: Sendable {
  /// Texts and names count, too.
  static let chunkBytes = 65_536

  /// Empty for a lane that no other handler shares.
  struct HandlerNames: Sendable {
    var handler = ""
    var lane: String?
  }

  struct Chunk: Sendable {
    /// Overwritten chunks count, too.
    var number = 0
    var records: [TraceRecord] = []
    var payloads: [String] = []
    /// The names of the handlers of the chunk's records.
    var handlers: [UInt64: HandlerNames] = [:]
    /// A cache of `handlers`, by the number modulo 64. A lookup here costs a tenth of one in the
    /// dictionary.
    var named = [UInt64](repeating: 0, count: 64)
    /// Counts payloads and names.
    var textBytes = 0
    /// Records of beginnings, and of handlers that were not called. Withdrawn calls do not count:
    /// an event withdraws the call of a forward that forwards nothing, after its beginning was
    /// reported. A record `callWithdrawn` then follows.
    var beginnings = 0

    init() {
      records.reserveCapacity(TraceRing.chunkBytes / MemoryLayout<TraceRecord>.stride)
    }

    var hasRoom: Bool {
      textBytes + (records.count + 1) * MemoryLayout<TraceRecord>.stride <= TraceRing.chunkBytes
    }

    mutating func hasName(of handler: UInt64) -> Bool {
      let place = Int(handler % 64)
      if named[place] == handler { return true }
      guard handlers[handler] != nil else { return false }
      named[place] = handler
      return true
    }

    /// Copies the arrays: one that is changed in place under a mutex must not be read without it.
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
    /// The beginnings in overwritten chunks: see ``Chunk/beginnings``.
    var overwritten = 0
    /// The beginnings in the chunks of `filled`: see ``Chunk/beginnings``.
    var filledCount = 0

    /// Looks in the current chunk and in the one before, because a call is withdrawn directly after
    /// its beginning. If other threads have filled more chunks since, the call stays counted.
    mutating func withdraw(_ call: UInt64) {
      if current.withdraw(call) { return }
      var isFound = false
      filled.updateLast { chunk in isFound = chunk.withdraw(call) }
      if isFound { filledCount -= 1 }
    }
  }

  private let most: Int
  private let state = Guarded(State())

  init(megabytes: Int) {
    most = max(1, min(64, megabytes)) * 1_048_576 / TraceRing.chunkBytes - 1
  }

  /// See ``Chunk/beginnings``.
  var count: Int { state.withLock { $0.filledCount + $0.current.beginnings } }
  /// See ``Chunk/beginnings``.
  var overwritten: Int { state.withLock { $0.overwritten } }

  /// The oldest first.
  ///
  /// - Parameter first: The number of the first chunk that is wanted.
  func contents(from first: Int = 0) -> (chunks: [Chunk], overwritten: Int) {
    state.withLock { state in
      var chunks: [Chunk] = []
      state.filled.forEach { chunk in if chunk.number >= first { chunks.append(chunk) } }
      return (chunks + [state.current.copy], state.overwritten)
    }
  }

  /// After `names`, the next try must bring the names of the handler; after `room`, it needs a new
  /// chunk.
  private enum Rest { case nothing, names, room }

  /// - Parameter names: Called without the mutex, and only if the current chunk lacks the handler's
  ///   names.
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

  fileprivate mutating func withdraw(_ call: UInt64) -> Bool {
    guard records.last(where: { $0.kind == .callBegan && $0.call == call }) != nil else { return false }
    beginnings -= 1
    return true
  }
}
