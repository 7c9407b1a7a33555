/// What the checks need of a library. Each does it the way its users do.
protocol Bus: Sendable {
  static var name: String { get }

  init()
  /// Adds a handler; what is returned removes it.
  func add(_ body: @escaping @Sendable (Int) -> Void) -> @Sendable () -> Void
  func addOnce(_ body: @escaping @Sendable (Int) -> Void)
  func send(_ number: Int)
  /// Adds an asynchronous handler; with a bound on what may wait for it, or as it is by default. Nil if the library has no way to do that.
  func addAsync(bound: Int?, _ body: @escaping @Sendable (Int) async -> Void) async -> Bool
}

/// What the checks ask for, and how the answer reads when it is as it should be.
struct Check: Sendable {
  /// In an answer: there is no such thing in the library.
  static let notOffered = "not offered"

  let name: String
  let title: String
  let expected: String
  let run: @Sendable (any Bus) async -> String
}
