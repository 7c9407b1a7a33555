import Eventing

// Stubs of what `FromCombineGuideTests+Combine.swift` and `WithSwiftUIGuideTests+Views.swift` use
// from other files of EventingTests. `check` compiles these two files with the stubs.

struct FromCombineGuideTests {
  struct Order: Sendable { var id = 7 }
}

struct WithSwiftUIGuideTests {
  struct Order: Sendable { var id = 1 }
  final class Shop: Sendable { let placed = Event<Order>("placed") }
}

final class Recorder<Value: Sendable>: Sendable {
  func record(_ value: Value) { fatalError("a stub") }
  var values: [Value] { fatalError("a stub") }
}
