import Synchronization
import Testing

@testable import Eventing

/// Tests of the assumptions of RuntimeSPI.swift about runtime functions that have no public name.
@Suite(.fewAtATime) struct RuntimeSPITests {
  @Test func noTwoTasksHaveOneNumber() async {
    var numbers: Set<UInt64> = []
    // The tasks run one after the other, so a later task may have the address of an earlier one.
    for _ in 0..<2_000 { numbers.insert(await Task { TaskID.current }.value) }
    await withTaskGroup(of: UInt64.self) { group in
      for _ in 0..<200 { group.addTask { TaskID.current } }
      for await number in group { numbers.insert(number) }
    }
    #if EVENTING_DOCUMENTED_ONLY
      #expect(!numbers.contains(0))
    #else
      #expect(numbers.count == 2_200 && !numbers.contains(0))
    #endif
  }

  @Test func aTaskKeepsItsNumberAndAThreadHasNone() async {
    let (before, after) = await Task {
      let before = TaskID.current
      await Task.yield()
      return (before, TaskID.current)
    }.value
    #expect(before == after)
    #expect(await onThread { TaskID.current } == 0)
  }

  @Test func aTaskThatACallLeavesBehindAddsAReference() async {
    let invocation = unsafe Unmanaged.passRetained(Invocation(ExecutionSlot()))
    let (gate, grown) = (Gate(), ConditionLock(false))
    let value = unsafe invocation.takeRetainedValue()
    let task = Context.invocation.withValue(value) {
      let before = unsafe RuntimeSPI.references(to: invocation)
      let task = Task { await gate.opened() }
      let after = unsafe RuntimeSPI.references(to: invocation)
      grown.withLock { $0 = after > before }
      return task
    }
    #expect(grown.withLock { $0 })
    gate.open()
    await task.value
    withExtendedLifetime(value) {}
  }

  @MainActor @Test func aMainActorClosureIsCalledAlikeWithoutItsIsolation() throws {
    let seen = Recorder<String>()
    let body = RuntimeSPI.withoutMainActor { @MainActor (value: [String]) in
      MainActor.preconditionIsolated()
      seen.record(value.joined())
      if value.isEmpty { throw CancellationError() }
    }
    try body(["a", "b"])
    #expect(throws: CancellationError.self) { try body([]) }
    #expect(seen.values == ["ab", ""])
  }

  @Test func onlyTypesWithoutReferencesAreTrivial() {
    final class Object {}
    struct Weak { weak var object: Object? }
    #expect(!RuntimeSPI.isTrivial(String.self) && !RuntimeSPI.isTrivial(Object.self))
    #expect(!RuntimeSPI.isTrivial(Weak.self) && !RuntimeSPI.isTrivial((any Error)?.self))
    #if !EVENTING_DOCUMENTED_ONLY
      #expect(RuntimeSPI.isTrivial(Int.self) && RuntimeSPI.isTrivial((Double, UInt8?).self))
      #expect(RuntimeSPI.isTrivial(Void.self))
    #endif
  }
}
