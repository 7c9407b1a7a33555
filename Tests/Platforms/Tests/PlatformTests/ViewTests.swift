import Eventing
import Observation
import SwiftUI
import SwiftUIBridge
import Testing

/// Tests of the bridge to SwiftUI. Stubs replace SwiftUI.
@MainActor @Suite(.timeLimit(.minutes(5))) struct ViewTests {
  private struct Level: View {
    let level: Observed<Double>
    var body: some View { Control(value: level.binding) }
  }
  private struct Control: View {
    @Binding var value: Double
    var body: Never { fatalError("no view") }
  }
  private struct Screen: View {
    let event: Event<Int>
    let level: Observed<Double>
    @State private var last = 0
    var body: some View {
      Level(level: level).onEvent(event) { last = $0 }.onEvent(level) { _ in }
    }
  }

  @Test func aBindingReadsAndSetsTheValue() {
    let level = Observed(0.5)
    let control = Level(level: level).body as? Control
    #expect(control?.value == 0.5)
    control?.value = 0.7
    #expect(level.value == 0.7)
  }

  @Test func aReadOfABindingIsTracked() {
    let (level, told) = (Observed(0.5), ConditionLock(0))
    withObservationTracking {
      _ = level.binding.wrappedValue
    } onChange: {
      told.withLock { $0 += 1 }
    }
    level.value = 1
    #expect(told.withLock { $0 } == 1)
  }

  @Test func theTaskOfAViewCallsItsClosureUntilItIsCancelled() async throws {
    let (event, seen) = (Event<Int>(), ConditionLock<[Int]>([]))
    let view = Level(level: Observed(0)).onEvent(event) { value in
      MainActor.assertIsolated()
      seen.withLock { $0.append(value) }
    }
    let evaluated = try evaluate(view, ViewStates())
    #expect(event.handlerCount == 0)
    let task = Task { [action = evaluated.action] in await action() }
    #expect(await eventually { event.handlerCount == 1 })
    for value in 1...3 { event.post(value) }
    #expect(await eventually { seen.withLock { $0 } == [1, 2, 3] })
    task.cancel()
    await task.value
    event.post(4)
    #expect(event.handlerCount == 0)
    #expect(seen.withLock { $0 } == [1, 2, 3])
  }

  /// Evaluates a view with a modifier, as SwiftUI does for each update.
  private func evaluate(_ view: some View, _ states: ViewStates) throws -> any ViewWithTask {
    try #require((view as? any ModifiedView)?.evaluated(with: states) as? any ViewWithTask)
  }

  @Test func aViewCallsTheClosureOfItsLastUpdate() async throws {
    let (event, seen, states) = (Event<Int>(), ConditionLock<[String]>([]), ViewStates())
    func update(_ name: String) throws -> any ViewWithTask {
      let view = Level(level: Observed(0)).onEvent(event) { value in seen.withLock { $0.append("\(name) \(value)") } }
      return try evaluate(view, states)
    }
    let first = try update("first")
    let task = Task { [action = first.action] in await action() }
    #expect(await eventually { event.handlerCount == 1 })
    event.post(1)
    #expect(await eventually { seen.withLock { $0.count } == 1 })
    // The second update passes `event` to `onEvent`, as the first update did. So SwiftUI would let
    // the task of the first update run on, and start no second task.
    #expect(try update("second").continues(first))
    event.post(2)
    #expect(await eventually { seen.withLock { $0.count } == 2 })
    #expect(seen.withLock { $0 } == ["first 1", "second 2"])
    task.cancel()
    await task.value
  }

  @Test func anUpdateWithAnotherEventListensToThatOne() async throws {
    let (one, two, seen, states) = (Event<Int>(), Event<Int>(), ConditionLock<[Int]>([]), ViewStates())
    func update(_ event: Event<Int>) throws -> any ViewWithTask {
      try evaluate(Level(level: Observed(0)).onEvent(event) { value in seen.withLock { $0.append(value) } }, states)
    }
    let (first, second) = (try update(one), try update(two))
    #expect(try !second.continues(first) && update(two).continues(second))
    // SwiftUI cancels the task of the first update and starts that of the second.
    let task = Task { [action = second.action] in await action() }
    #expect(await eventually { two.handlerCount == 1 })
    one.post(1)
    two.post(2)
    #expect(await eventually { seen.withLock { $0.count } == 1 })
    #expect(seen.withLock { $0 } == [2])
    #expect(one.handlerCount == 0)
    task.cancel()
    await task.value
  }

  @Test func viewsThatListenAreMade() {
    _ = Screen(event: Event(), level: Observed(0)).body
  }
}
