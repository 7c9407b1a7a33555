import Eventing
import Observation
import Testing

// Tests of values that are read under Observation's tracking.
extension ObservedTests {
  /// A value that cannot be compared.
  private struct Reading: Sendable {
    let number: Int
    let scale: @Sendable (Int) -> Int
  }

  @Test func aTrackedReadIsToldOfTheNextChangeOnce() {
    let (value, told) = (Observed(0), Recorder<Int>())
    withObservationTracking {
      _ = (value.value, value.value)
    } onChange: {
      // The value has changed before `onChange` is called.
      told.record(value.value)
    }
    #expect(told.values == [])
    value.value = 7
    #expect(told.values == [7])
    value.value = 8
    value.update { $0 += 1 }
    #expect(told.values == [7])
  }

  @Test func aReadWithoutTrackingIsToldNothing() {
    let (value, other, told) = (Observed(0), Observed(0), Recorder<Int>())
    _ = value.value
    withObservationTracking {
      _ = other.value
    } onChange: {
      told.record(1)
    }
    _ = value.value
    value.value = 1
    #expect(told.values.count == 0)
    other.update { $0 += 1 }
    #expect(told.values.count == 1)
  }

  @Test func aPropertyAndAValueThatCannotBeComparedAreTracked() {
    final class Sensor {
      @Observed var reading = Reading(number: 1) { $0 }
    }
    let (sensor, told) = (Sensor(), Recorder<Int>())
    for scale in 1...3 {
      withObservationTracking {
        _ = sensor.reading.scale(sensor.reading.number)
      } onChange: {
        told.record(1)
      }
      sensor.reading = Reading(number: 1) { $0 * scale }
      #expect(told.values.count == scale)
    }
  }

  @Test func oneClosureIsToldOfTheFirstOfSeveralValuesOnly() {
    let (first, second, told) = (Observed(0), Observed(0), Recorder<Int>())
    withObservationTracking {
      _ = first.value + second.value
    } onChange: {
      told.record(1)
    }
    second.value = 1
    first.value = 1
    #expect(told.values.count == 1)
  }

  @Test func aChangeInsideAHandlerIsToldAfterItsHandlers() {
    let (value, seen) = (Observed(0), Recorder<String>())
    value.newValues.addHandler { new in
      seen.record("handler \(new)")
      if new == 1 { value.value = 2 }
    }
    withObservationTracking {
      _ = value.value
    } onChange: {
      seen.record("told \(value.value)")
    }
    value.value = 1
    #expect(seen.values == ["handler 1", "handler 2", "told 2"])
  }

  /// Checks that `onChange` may set the value, and read it under tracking again.
  @Test func onChangeMaySetTheValue() {
    let (value, told) = (Observed(0), Recorder<Int>())
    @Sendable func track() {
      withObservationTracking {
        _ = value.value
      } onChange: {
        told.record(value.value)
        if value.value < 3 {
          track()
          value.value += 1
        }
      }
    }
    track()
    value.value = 1
    #expect(told.values == [1, 2, 3])
  }

  @Test func handlersAndCombinationsReceiveATrackedValue() async {
    let (value, other, seen) = (Observed(0), Observed(0), Recorder<Int>())
    value.changes().addHandler { seen.record(($0.old ?? -1) * 10 + $0.new) }
    value.combineLatest(other).addHandler { seen.record(100 * $0 + $1) }
    for new in 1...3 {
      withObservationTracking {
        _ = value.value
      } onChange: {
        seen.record(-new)
      }
      value.value = new
    }
    #expect(seen.values == [0, 1, -1, 100, 12, -2, 200, 23, -3, 300])
  }

  /// Checks a change between the tracked read and the return of the tracked closure. `onChange` is
  /// called after that return.
  @Test func aSetByAnotherThreadBeforeTheReaderIsRegisteredIsTold() async {
    let (value, told, hasRead, isSet) = (Observed(0), Gate(), Gate(), Gate())
    let reader = startThread {
      withObservationTracking {
        _ = value.value
        hasRead.open()
        isSet.wait()
      } onChange: {
        if value.value == 1 { told.open() }
      }
    }
    await hasRead.opened()
    value.value = 1
    #expect(!told.isOpen)
    isSet.open()
    await reader.opened()
    await told.opened()
    #expect(told.isOpen)
  }

  @Test func aTrackedClosureThatSetsTheValueIsToldOfTheNextChangeOnly() {
    let (value, told) = (Observed(0), Recorder<Int>())
    withObservationTracking {
      _ = value.value
      value.value = 1
      value.value = 2
    } onChange: {
      told.record(value.value)
    }
    #expect(told.values == [])
    value.value = 3
    value.value = 4
    #expect(told.values == [3])
  }

  /// Checks a tracked closure that reads the value, and then sets it. Between these two steps,
  /// another thread reads the value without tracking. If that read counted as a second reader, the
  /// closure would be told of its own set.
  @Test func aTrackedClosureIsNotToldOfItsOwnSetAfterAnUntrackedReadByAnotherThread() {
    let (value, told) = (Observed(0), Recorder<Int>())
    withObservationTracking {
      _ = value.value
      startThread { _ = value.value }.wait()
      value.value = 1
    } onChange: {
      told.record(value.value)
    }
    value.value = 2
    #expect(told.values == [2])
  }

  /// Checks that each reader receives the last change, however many threads set the value
  /// meanwhile.
  @Test func readersFollowSetsFromManyThreads() async {
    let (value, seen) = (Observed(0), ConditionLock([0, 0, 0]))
    @Sendable func follow(_ reader: Int) {
      let new = withObservationTracking {
        value.value
      } onChange: {
        follow(reader)
      }
      seen.withLock { $0[reader] = max($0[reader], new) }
    }
    await onThreads(6) { index in
      if index < 3 { return follow(index) }
      for _ in 0..<300 { value.update { $0 += 1 } }
    }
    await onThread { seen.wait("the last value") { $0.allSatisfy { $0 == 900 } } }
    #expect(seen.withLock { $0 } == [900, 900, 900])
  }

  @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
  @Test func observationsEndWithTheLastValue() async {
    let value = Observed(0)
    let last = await withTaskGroup(of: Int.self) { group in
      group.addTask {
        for await new in Observations({ value.value }) where new == 200 { return new }
        return -1
      }
      group.addTask {
        await onThreads(2) { _ in for _ in 0..<100 { value.update { $0 += 1 } } }
        return 0
      }
      return await group.reduce(0, +)
    }
    #expect(last == 200)
  }

  @Test func trackingLeavesNothingBehind() async {
    let live = LiveCount()
    // Observation keeps the closures of the process's first tracked read. So the test makes one
    // such read before it counts.
    withObservationTracking {
      _ = Observed(0).value
    } onChange: {
    }
    do {
      let value = Observed(Canary(live))
      let canary = Canary(live)
      for _ in 0..<10 {
        for _ in 0..<3 {
          withObservationTracking {
            value.value.sing()
          } onChange: {
            canary.sing()
          }
        }
        value.value = Canary(live)
      }
      // A reader whose `onChange` is never called.
      withObservationTracking {
        value.value.sing()
      } onChange: {
        canary.sing()
      }
    }
    #expect(await eventually { live.alive == 0 })
  }
}
