@testable import Eventing
import Testing

// Tests of changes that begin while another change of the value is being made.
extension ObservedTests {
  /// How the closure of an `update` changes the value while this `update` is still running: by
  /// another `update`, or by a set.
  enum Inner: String, CaseIterable, Sendable {
    case update, set

    func change(_ value: Observed<Int>) {
      switch self {
      case .update: value.update { $0 += 10 }
      case .set: value.value = 10
      }
    }

    /// Calls `update` with a closure that itself changes the value in each of its first 999 calls.
    ///
    /// - Returns: The number of calls of that closure, the last value it made, and the final value.
    func nest() -> (calls: Int, made: Int, value: Int) {
      let value = Observed(0)
      var (calls, made) = (0, 0)
      value.update { number in
        calls += 1
        if calls < 1_000 { change(value) }
        number += 1
        made = number
      }
      return (calls, made, value.value)
    }
  }

  #if DEBUG
    @Test(arguments: Inner.allCases) func changingAValueInsideItsUpdateStops(inner: Inner) async {
      await #expect(processExitsWith: .failure) { [name = inner.rawValue as String] in
        print(Inner(rawValue: name)!.nest())
      }
    }
  #else
    @Test(arguments: Inner.allCases) func changingAValueInsideItsUpdateEndsAndTheOuterChangeStands(inner: Inner) async {
      let (calls, made, value) = await onThread { inner.nest() }
      #expect(calls <= 2)
      #expect(value == made)
    }
  #endif

  @Test func aPriorHandlerIsCalledOnceForEachSetThoughAnotherThreadSetsMeanwhile() async {
    let (value, seen, isFirst) = (Observed(0), Recorder<ValueChange<Int>>(), ConditionLock(true))
    value.changes(prior: true).addHandler { change in
      seen.record(change)
      let isMine = isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst
      }
      if isMine { startThread { value.value = 100 }.wait() }
    }
    await startThread { value.value = 1 }.opened()
    await value.quiesce()
    for number in [1, 100] {
      #expect(seen.values.filter { $0.new == number }.map(\.isPrior) == [true, false], "\(number): \(seen.values)")
    }
  }

  private enum Request {
    @TaskLocal static var id = 0
  }

  @Test func observersAreToldThatALockHoldsAnAnnouncementWithCarriedValues() async {
    let (value, notes, begun, mayEnd) = (Observed(0), ObserverTests.Notes(), Gate(), Gate())
    let (isInside, mayLeave, isDelivered, event) = (Gate(), Gate(), Gate(), value.storage.event)
    let token = value.changes(prior: true).addHandler { _ async in
      begun.open()
      await mayEnd.opened()
    }
    value.changes().addHandler { change in
      isInside.open()
      if change.new == 1 { mayLeave.wait() } else { isDelivered.open() }
    }
    event.observe(with: notes)
    let carried = EventContext.propagate(Request.$id)
    let thread = startThread { value.value = 1 }
    await isInside.opened()
    Request.$id.withValue(7) { value.value = 2 }  // The other thread is in the event: the change waits.
    carried.end()
    mayLeave.open()
    await thread.opened()
    await isDelivered.opened()  // The first handler's lane has all four occurrences.
    await begun.opened()
    event.lock(token, holding: .unbounded)
    mayEnd.open()
    await value.quiesce()
    // The handler's first call was the announcement of 1. The lock holds the change to 1, the
    // announcement of 2, and the change to 2.
    #expect(await eventually { notes.lines.values.contains("held ? 4") })
    #expect(notes.lines.values.filter { $0.hasPrefix("held") } == ["held ? 2", "held ? 3", "held ? 4"])
  }
}
