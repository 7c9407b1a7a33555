import Eventing
import Testing

// Tests of changes that begin while another change of the value is being made.
extension ObservedTests {
  /// The way in which the closure of an `update` changes the value a second time.
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
    let (value, seen, isFirst) = (Observed(0), Recorder<Change<Int>>(), ConditionLock(true))
    value.addHandler(options: [.prior, .old, .new]) { change in
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
}
