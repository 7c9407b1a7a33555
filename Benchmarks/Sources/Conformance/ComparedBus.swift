import Dispatch

/// The operations of a library that the checks use. Each is written as users of the library write
/// it.
protocol ComparedBus: Sendable {
  static var name: String { get }

  init()
  /// Adds a handler, and returns a closure that removes it.
  func add(_ body: @escaping @Sendable (Int) -> Void) -> @Sendable () -> Void
  /// Adds a handler that is called once.
  func addOnce(_ body: @escaping @Sendable (Int) -> Void)
  func send(_ number: Int)
  /// Adds an asynchronous handler.
  ///
  /// - Parameter bound: The maximum number of values that wait for the handler; nil for the
  ///   library's default.
  /// - Returns: False if the library has no such handlers.
  func addAsync(bound: Int?, _ body: @escaping @Sendable (Int) async -> Void) async -> Bool
  /// Adds a handler as a main-actor class does: the bare closure, if it compiles.
  @MainActor func addInMainActorClass(_ table: Table)
  /// Receives values in a loop until the task is cancelled.
  func loop(_ body: @Sendable (Int) -> Void) async
}

extension ComparedBus {
  /// For libraries without sequences: a loop over a stream that a handler fills.
  func loop(_ body: @Sendable (Int) -> Void) async {
    let numbers = AsyncStream<Int> { continuation in
      let remove = add { continuation.yield($0) }
      continuation.onTermination = { _ in remove() }
    }
    for await number in numbers { body(number) }
  }
}

/// What a handler in a main-actor class changes.
@MainActor final class Table {
  private static let isMain = DispatchSpecificKey<Bool>()
  private(set) var rows: [Int] = []
  private(set) var isOnMain = true

  init() { DispatchQueue.main.setSpecific(key: Table.isMain, value: true) }
  func append(_ row: Int) {
    rows.append(row)
    // On Linux the main queue, and with it the main actor, is served by any thread.
    if DispatchQueue.getSpecific(key: Table.isMain) != true { isOnMain = false }
  }
}

/// A library whose consumers are loops over a sequence, which receive a value after the send.
protocol SequenceBus: ComparedBus {
  typealias Values = any AsyncSequence<Int, Never> & Sendable
  /// - Returns: nil if the library doesn't offer a bound that drops values.
  func values(bound: Int?) -> Values?
}

extension SequenceBus {
  func add(_ body: @escaping @Sendable (Int) -> Void) -> @Sendable () -> Void { {} }
  func addOnce(_ body: @escaping @Sendable (Int) -> Void) {}
  func addAsync(bound: Int?, _ body: @escaping @Sendable (Int) async -> Void) async -> Bool {
    guard let values = values(bound: bound) else { return false }
    Task.detached { for await number in values { await body(number) } }
    return true
  }
  @MainActor func addInMainActorClass(_ table: Table) {
    guard let values = values(bound: nil) else { return }
    Task { for await number in values { table.append(number) } }
  }
  func loop(_ body: @Sendable (Int) -> Void) async {
    guard let values = values(bound: nil) else { return }
    for await number in values { body(number) }
  }
}

/// A check, with the answer that is expected of swift-eventing.
struct Check: Sendable {
  /// The answer for a feature that the library lacks.
  static let notOffered = "not offered"

  let name: String
  let title: String
  let expected: String
  /// Whether the question can be asked of loops over a sequence.
  var isForLoops = false
  let run: @Sendable (any ComparedBus) async -> String
}
