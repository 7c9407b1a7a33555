import Eventing

/// All handlers of one queue, actor or shared lane, or of the main actor, have one number. A
/// process never uses a number again.
enum LaneNumbers {
  private struct Table {
    var entries: [ObjectIdentifier: Entry] = [:]
    var last: UInt64 = 0
    /// Above this number of entries, ``number(of:)`` removes those whose object is gone.
    var limit = 256
  }

  private final class Entry: Sendable {
    let number: UInt64
    private weak let object: (any AnyObject & Sendable)?

    init(_ number: UInt64, _ object: any AnyObject & Sendable) {
      self.number = number
      self.object = object
    }

    /// Never read under a mutex.
    var living: (any AnyObject & Sendable)? { object }
  }

  private static let table = Guarded(Table())

  private final class Main: Sendable {}
  private static let main = Main()

  static func number(of target: DeliveryTarget) -> UInt64? {
    switch target.record.place {
    case .main: objectNumber(main)
    case .queue(let queue, _): objectNumber(queue)
    case .lane(let lane, _): objectNumber(lane)
    case .actor: target.record.options.owner?.object.flatMap { objectNumber($0) }
    case .inline: nil
    default: objectNumber(target)
    }
  }

  private static func objectNumber(_ object: any AnyObject & Sendable) -> UInt64 {
    let id = ObjectIdentifier(object)
    let known = table.withLock { $0.entries[id] }
    // The entry `known` was made for an object at this address: `object`, or an earlier object that
    // is gone. Two living objects never share an address. So if the object of the entry is alive,
    // it is `object`, and the number of the entry is the right one.
    if let known, known.living != nil { return known.number }
    let all = table.withLock { $0.entries.count > $0.limit ? Array($0.entries) : [] }
    let gone = all.filter { $0.value.living == nil }
    return table.withLock { table in
      if !all.isEmpty {
        for (id, entry) in gone where table.entries[id] === entry { table.entries[id] = nil }
        table.limit = max(256, 2 * table.entries.count)
      }
      // Another thread may have numbered the object meanwhile.
      if let entry = table.entries[id], entry !== known { return entry.number }
      table.last += 1
      table.entries[id] = Entry(table.last, object)
      return table.last
    }
  }
}
