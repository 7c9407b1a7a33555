import Eventing

// The declarations of the tests of the guides that their code for Combine and SwiftUI uses.

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
