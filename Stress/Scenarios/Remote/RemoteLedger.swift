import Eventing
import EventingTransport

/// The numbers that workers published and the engine stored, and the numbers that each group of
/// members has handled or given up.
final class RemoteLedger: Sendable {
  static let groups = ["a", "b"]
  /// The group with a subject for dead letters. Its handlers refuse each number for which
  /// ``isRefused(_:)`` is true, and the group gives such a number up as a dead letter.
  static let groupWithLetters = "b"

  /// An error that a handler throws on purpose.
  struct Refused: Error {}

  private struct State: Sendable {
    var stored: Set<Int> = []
    var handled: [String: Set<Int>] = [:]
    /// The numbers that the group *b* has given up: they came as dead letters.
    var dead: Set<Int> = []
    var calls = 0
    /// The number of calls of the handler with a pace.
    var paced = 0
    /// The number of members that have joined.
    var joined = 0
    var running = 0
    var inHandlers = 0
    var overlaps = 0
    var members: [(group: String, event: RemoteEvent<[UInt8]>)] = []

    /// Returns the numbers that a group has handled or given up.
    func ended(in group: String) -> Set<Int> {
      (handled[group] ?? []).union(group == RemoteLedger.groupWithLetters ? dead : [])
    }
  }

  private let state = Guarded(State())

  var running: Int { state.withLock { $0.running } }
  var storedCount: Int { state.withLock { $0.stored.count } }
  var overlaps: Int { state.withLock { $0.overlaps } }
  /// The number of stored numbers that each group has handled or given up, summed over the groups.
  var endedCount: Int {
    state.withLock { state in
      RemoteLedger.groups.reduce(0) { $0 + state.stored.intersection(state.ended(in: $1)).count }
    }
  }

  /// The numbers that were stored, but that at least one group has neither handled nor given up.
  var missing: [String] {
    state.withLock { state in
      RemoteLedger.groups.flatMap { group in
        state.stored.subtracting(state.ended(in: group)).sorted().map { "\($0) in \(group)" }
      }
    }
  }

  /// The numbers that the group *b* has handled, although its handlers refuse them at every
  /// attempt.
  var wrong: [Int] {
    state.withLock { $0.handled[RemoteLedger.groupWithLetters]?.filter(RemoteLedger.isRefused) ?? [] }
  }

  /// Returns whether the handlers of the group *b* refuse a number at every attempt, so that it
  /// must become a dead letter.
  static func isRefused(_ number: Int) -> Bool { number.isMultiple(of: 32) }

  func begin() { state.withLock { $0.running += 1 } }
  func end() { state.withLock { $0.running -= 1 } }

  /// Publishes a number, and again after each error `mayBeStored`. Records the number as stored
  /// when `publish` returns. Gives up after any other error.
  func store(_ number: Int, by event: RemoteEvent<[UInt8]>) async {
    while true {
      do {
        _ = try await event.publish(Array("\(number)".utf8), id: "number.\(number)")
        state.withLock { _ = $0.stored.insert(number) }
        return
      } catch let error as TransportError where error.code == .mayBeStored {
        continue
      } catch {
        return
      }
    }
  }

  /// Counts a call of a handler that begins. Returns whether no other such call runs.
  func enter() -> Bool {
    state.withLock { state in
      state.inHandlers += 1
      if state.inHandlers > 1 { state.overlaps += 1 }
      return state.inHandlers == 1
    }
  }

  func leave() { state.withLock { $0.inHandlers -= 1 } }

  /// Records the number in a dead letter as given up.
  func noteLetter(_ body: [UInt8]) {
    let number = Int(String(decoding: body, as: UTF8.self)) ?? -1
    state.withLock { _ = $0.dead.insert(number) }
  }

  /// Records a number as handled by a group. Throws instead at every eighth call, counted over both
  /// groups together, and in the group *b* for each number that it must refuse.
  func handle(_ body: [UInt8], in group: String) throws {
    let number = Int(String(decoding: body, as: UTF8.self)) ?? -1
    let isRefused = state.withLock { state in
      state.calls += 1
      if state.calls.isMultiple(of: 8) { return true }
      if group == RemoteLedger.groupWithLetters, RemoteLedger.isRefused(number) { return true }
      state.handled[group, default: []].insert(number)
      return false
    }
    if isRefused { throw Refused() }
  }

  func add(_ event: RemoteEvent<[UInt8]>, to group: String) { state.withLock { $0.members.append((group, event)) } }

  func notePaced() { state.withLock { $0.paced += 1 } }
  var pacedCount: Int { state.withLock { $0.paced } }

  /// Returns the kind of handler that the next member gets: 0, 1 or 2 in turn.
  func nextKind() -> Int {
    state.withLock { state in
      state.joined += 1
      return state.joined % 3
    }
  }

  /// Returns a member of a group, if there is one.
  func member(of group: String) -> RemoteEvent<[UInt8]>? {
    state.withLock { state in state.members.first { $0.group == group }?.event }
  }

  /// Removes and returns a member of a group.
  func takeMember(of group: String) -> RemoteEvent<[UInt8]>? {
    state.withLock { state in
      state.members.firstIndex { $0.group == group }.map { state.members.remove(at: $0).event }
    }
  }

  /// Removes and returns all members.
  func takeMembers() -> [RemoteEvent<[UInt8]>] {
    state.withLock { state in
      defer { state.members = [] }
      return state.members.map(\.event)
    }
  }
}
