package struct InspectedEvent: Sendable {
  package let name: String?
  package let kind: HandlerTable.Kind
  package let anchor: EventAnchor

  package var identity: EventIdentity? { anchor.core?.identity }

  package var id: UInt64 { anchor.number }

  init(_ core: EventCore, _ name: String?, _ kind: HandlerTable.Kind) {
    self.name = name
    self.kind = kind
    anchor = core.anchor
  }
}

extension HandlerTable {
  package var inspected: [InspectedEvent] {
    let kind = if case .event(_, let kind) = content { kind } else { HandlerTable.Kind.event }
    return events.map { InspectedEvent($0.core, $0.name, kind) }
  }

  package var bus: EventBus? { if case .bus(let bus) = content { bus } else { nil } }
}

extension EventCore {
  package var unheardCore: EventCore? { rareStateReference.load()?.unhandledReference.load()?.event.core }
}

extension Failures {
  package var eventNumber: UInt64? { knownEvent?.core.anchor.number }
}

extension HandlerRecord {
  package final var forwardTarget: EventAnchor? {
    guard let options = details?.options, options.isForward else { return nil }
    return (options.owner?.object as? any AnyEvent)?.core.anchor
  }
}

/// A table that an inspector shows beside the events: what a module knows of another system.
package protocol InspectedTable: AnyObject, Sendable {
  var title: String { get }
  var columns: [String] { get }
  /// What a client may do with rows, if the program allows control.
  var actions: [String] { get }
  /// Returns the first rows, the number of all, and the number of the latest thing that they stand
  /// for. Called by the thread of each inspection at each poll, always with the same limit.
  func rows(upTo limit: Int) -> (first: [InspectedRow], count: Int, latest: UInt64)
  /// Returns the number of things on which the action was performed. Rows that have gone are
  /// ignored, and so is what came after `latest`: who asks has not seen it.
  func perform(_ action: String, on rows: Set<UInt64>, upTo latest: UInt64) async throws -> Int
}

package struct InspectedRow: Equatable, Sendable {
  package let id: UInt64
  /// A text for each column.
  package let cells: [String]
  package let isBad: Bool

  package init(id: UInt64, isBad: Bool, _ cells: [String]) {
    (self.id, self.isBad, self.cells) = (id, isBad, cells)
  }
}

/// The tables of this process. They are held weakly.
package enum InspectedTables {
  private struct Member {
    let id: UInt64
    weak let table: (any InspectedTable)?
  }

  private static let members = Guarded((last: UInt64(0), all: [Member]()))

  package static func add(_ table: some InspectedTable) {
    let ended = Set(all.filter { $0.table == nil }.map(\.id))
    members.withLock { members in
      members.all.removeAll { ended.contains($0.id) }
      members.last += 1
      members.all.append(Member(id: members.last, table: table))
    }
  }

  /// In the order in which they were added.
  package static var current: [(id: UInt64, table: any InspectedTable)] {
    all.compactMap { member in member.table.map { (member.id, $0) } }
  }

  // A weak reference that is read may become the last one, so none is read under the lock.
  private static var all: [Member] { members.withLock { $0.all.map { $0 } } }
}
