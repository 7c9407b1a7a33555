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
}

/// A check, with the answer that is expected of swift-eventing.
struct Check: Sendable {
  /// The answer for a feature that the library lacks.
  static let notOffered = "not offered"

  let name: String
  let title: String
  let expected: String
  let run: @Sendable (any ComparedBus) async -> String
}
