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
      Level(level: level).onEvent(event) { last = $0 }.onEvent(level.currentValues) { _ in }
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
    let evaluated = try #require((view as? any ModifiedView)?.evaluated as? any ViewWithTask)
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

  @Test func viewsThatListenAreMade() {
    _ = Screen(event: Event(), level: Observed(0)).body
  }
}
