import Dispatch
import Eventing

// Calls for which the compiler has to choose an overload. The handler's delivery shows the choice.
extension CallSites {
  static func later(_ x: Double) async {}
  static func laterThrowing(_ x: Double) async throws {}
  static func laterTyped(_ x: Double) async throws(Problem) {}
  static func now(_ x: Double) {}
  static func nowThrowing(_ x: Double) throws {}
  static func nowTyped(_ x: Double) throws(Problem) {}
  @MainActor static func onMain(_ x: Double) {}

  static func selection() -> Event<Double> {
    let e = Event<Double>()
    e.addHandler(.named("{ now }")) { x in now(x) }
    e.addHandler(.named("{ try now }")) { x in try nowThrowing(x) }
    e.addHandler(.named("{ try typed now }")) { x in try nowTyped(x) }
    e.addHandler(.named("{ x throws(Problem) in }")) { x throws(Problem) in try nowTyped(x) }
    e.addHandler(.named("now"), perform: now)
    e.addHandler(.named("nowTyped"), perform: nowTyped)
    e.addHandler(.named("{ await }")) { x in await later(x) }
    e.addHandler(.named("{ try await }")) { x in try await laterThrowing(x) }
    e.addHandler(.named("{ try await typed }")) { x in try await laterTyped(x) }
    e.addHandler(.named("{ x async in now }")) { x async in now(x) }
    e.addHandler(.named("{ x async throws(Problem) in }")) { x async throws(Problem) in try await laterTyped(x) }
    e.addHandler(.named("later"), perform: later)
    e.addHandler(.named("laterTyped"), perform: laterTyped)
    e.addHandler(.named("await in a nested Task only")) { x in Task { await later(x) } }
    e.addHandler(.named("await in the second statement")) { x in
      now(x)
      await later(x)
    }
    e.addHandler(.named("background { now }"), on: .background) { x in now(x) }
    e.addHandler(.named("background { await }"), on: .inOrder(priority: .utility)) { x in await later(x) }
    e.addHandler(.named("concurrent { now }"), on: .concurrent(limit: 2)) { x in now(x) }
    e.addHandler(.named("concurrent { await }"), on: .concurrent(limit: 2)) { x in await later(x) }
    e.addHandler(.named("task { now }"), on: .task(priority: .high)) { x in now(x) }
    e.addHandler(.named("task { await }"), on: .task(priority: .high)) { x in await later(x) }
    e.addHandler(.named("main { now }"), on: .main) { x in onMain(x) }
    e.addHandler(.named("main { await }"), on: .main) { x in await later(x) }
    return e
  }
}
