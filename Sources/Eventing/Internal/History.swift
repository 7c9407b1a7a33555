import Synchronization

/// What an event keeps for newcomers.
// Safe: `latest` is guarded by the mailbox's lock, the rest is touched only from inside.
@usableFromInline final class History<Payload: Sendable>: @unchecked Sendable {
  /// Under the lock: the last that was sent.
  @usableFromInline @exclusivity(unchecked) var latest: Payload?
  @exclusivity(unchecked) private(set) var past = Queue<Past>()
  private let limit: Int

  struct Past: Sendable {
    let payload: Payload
    let sequence: UInt64
    weak let sender: (any AnyObject & Sendable)?
  }

  /// Nil if there is nothing to keep.
  init?(_ replay: Replay<Payload>) {
    switch replay.kind {
    case .none: return nil
    case .last(let count): limit = count
    case .current(let value):
      limit = 1
      unsafe latest = value
      unsafe past.append(Past(payload: value, sequence: 0, sender: nil))
    }
  }

  /// Inside: notes an occurrence whose delivery begins.
  @usableFromInline func note(_ payload: Payload, _ sequence: UInt64, from sender: (any AnyObject & Sendable)?) {
    unsafe past.append(Past(payload: payload, sequence: sequence, sender: sender))
    if unsafe past.count > limit { _ = unsafe past.popFirst() }
  }
}

extension Mailbox {
  /// Before anybody else knows the event: from now on no thread enters the quick way, but all that is sent is queued, by whoever finds the event idle too, and worked off at
  /// once. So everything passes the lock, under which `latest` changes, and nothing that keeps no history pays for it.
  func keep(_ history: History<Payload>) {
    unsafe backlog.history = history
    unsafe isKeeping = true
    word.store(Word.keeping, ordering: .relaxed)
  }

  /// Inside: tells a handler that has just joined what was sent before.
  @usableFromInline func replay(_ history: History<Payload>, to record: Record) {
    let priority = record.details?.options.priority ?? 0
    var past = unsafe history.past  // what is told stays, whatever a handler sends meanwhile
    while let item = past.popFirst() {
      guard unsafe record.slot >= 0, !record.has(Bit.gone) else { break }
      tell(record, item.payload, priority, sequence: item.sequence, from: item.sender)
    }
  }
}
