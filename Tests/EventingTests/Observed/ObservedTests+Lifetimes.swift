import Eventing
import Testing

// Tests of values that are released while their events have work left.
extension ObservedTests {
  /// Checks handlers that the event's own queue adds after the last reference to the value was
  /// released.
  @Test func handlersThatJoinWhenTheValueIsGoneReceiveIt() async {
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (seen, isInside, mayLeave) = (Recorder<Int>(), Gate(), Gate())
      let (isJoining, mayJoin) = (Gate(), Gate())
      let value = ConditionLock<Observed<Int>?>(Observed(0))
      value.withLock { $0 }?.changes().addHandler { _ in
        isInside.open()
        mayLeave.wait()
      }
      let poster = startThread { ObservedTests.set(value, 1) }
      await isInside.opened()
      await onThread {
        for number in 0..<300 {
          ObservedTests.addHandler(to: value) { current in
            if number == 270 {
              isJoining.open()
              mayJoin.wait()
            }
            seen.record(current)
          }
        }
      }
      mayLeave.open()
      await poster.opened()
      await isJoining.opened()
      value.withLock { $0 = nil }
      mayJoin.open()
      await onThread { seen.wait(forCount: 300) }
      #expect(seen.values == Array(repeating: 1, count: 300))
    }
  }

  private static func set(_ value: ConditionLock<Observed<Int>?>, _ new: Int) { value.withLock { $0 }?.value = new }

  private static func addHandler(
    to value: ConditionLock<Observed<Int>?>, _ body: @escaping @Sendable (Int) -> Void
  ) {
    value.withLock { $0 }?.addHandler(perform: body)
  }
}
