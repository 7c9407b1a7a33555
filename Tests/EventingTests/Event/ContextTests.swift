import Eventing
import Testing

/// Tests of guarantee G18: carried task-local values reach handlers on every lane. They also reach
/// the handlers of an occurrence that was queued.
@Suite(.serialized, .fewAtATime) struct ContextTests {
  enum Request {
    @TaskLocal static var id = 0
    @TaskLocal static var user = ""
  }

  /// Runs `body` while both values of `Request` are carried.
  ///
  /// Carrying affects the whole process, and other tests run in parallel. So the carrying ends with
  /// `body`.
  private func carrying(_ body: () async throws -> Void) async rethrows {
    let carried = [EventContext.propagate(Request.$id), EventContext.propagate(Request.$user)]
    defer { for one in carried { one.end() } }
    try await body()
  }

  @Test(arguments: BoundedLane.allCases, [false, true]) func everyLaneHasTheCarriedValues(
    lane: BoundedLane, isBounded: Bool
  ) async {
    await carrying {
      let (event, seen) = (Event<Int>(), Recorder<String>())
      event.add(
        lane.handler(isBounded ? .newest(100) : .unbounded, until: .open) {
          seen.record("\($0) \(Request.id) \(Request.user)")
        })
      for id in 1...3 {
        await Request.$id.withValue(id) {
          await Request.$user.withValue("user \(id)") {
            event.post(id)
            await event.send(id * 10)
            _ = await event.submit(id * 100).report
          }
        }
      }
      event.post(0)
      await event.quiesce()
      var due: [String] = []
      for id in 1...3 { due += [id, id * 10, id * 100].map { number in "\(number) \(id) user \(id)" } }
      #expect(seen.values == due + ["0 0 "])
    }
  }

  @Test(arguments: [false, true]) func tasksAndActorsHaveTheCarriedValues(isAwaited: Bool) async {
    await carrying {
      let (event, seen, account) = (Event<Int>(), Recorder<Int>(), Account())
      event.addHandler(on: .task) { _ async in seen.record(Request.id) }
      event.addHandler(isolatedTo: account) { account, _ in account.ids.append(Request.id) }
      await Request.$id.withValue(7) {
        if isAwaited { await event.send(1) } else { event.post(1) }
      }
      await event.quiesce()
      #expect(seen.values == [7])
      #expect(await account.ids == [7])
    }
  }

  actor Account { var ids: [Int] = [] }

  @Test func anOccurrenceThatHadToWaitHasTheValuesOfItsSender() async {
    await carrying {
      let (event, other, seen) = (Event<Int>(), Event<Int>(), Recorder<String>())
      let (inside, gate) = (Gate(), Gate())
      event.addHandler { number in
        seen.record("\(number) \(Request.id)")
        guard number == 1 else { return }
        inside.open()
        gate.wait()
      }
      event.forward(to: other)
      other.addHandler(on: .background) { seen.record("forwarded \($0) \(Request.id)") }
      let first = startThread { Request.$id.withValue(1) { event.post(1) } }
      await inside.opened()
      Request.$id.withValue(2) { event.post(2) }
      let sending = Request.$id.withValue(3) { Task { await event.send(3) } }
      let value = Observed(0)
      value.newValues.addHandler(on: .background) { seen.record("set \($0) \(Request.id)") }
      Request.$id.withValue(4) { value.value = 4 }
      gate.open()
      await first.opened()
      _ = await sending.value
      for event in [event, other] { await event.quiesce() }
      await value.quiesce()
      #expect(
        seen.values.sorted() == ["1 1", "2 2", "3 3", "forwarded 1 1", "forwarded 2 2", "forwarded 3 3", "set 4 4"])
    }
  }

  @Test func aTaskThatAHandlerStartsHasTheCarriedValuesAndTheWaitGraphIsAsBefore() async {
    await carrying {
      let (event, seen) = (Event<Int>(), Recorder<Int>())
      event.addHandler { number async in
        guard number == 1 else { return }
        await Task { seen.record(Request.id) }.value
        seen.record(await event.send(2).deferred)
      }
      await Request.$id.withValue(5) { _ = await comesBack { await event.send(1) } }
      #expect(seen.values == [5, 1])
      await event.quiesce()
    }
  }

  @Test func aValueThatIsNoLongerCarriedDoesNotReachALane() async {
    let (event, seen) = (Event<Int>(), Recorder<Int>())
    event.addHandler(on: .background) { _ in seen.record(Request.id) }
    let one = EventContext.propagate(Request.$id)
    await Request.$id.withValue(1) { _ = await event.send(1) }
    one.end()
    one.end()
    await Request.$id.withValue(2) { _ = await event.send(1) }
    #expect(seen.values == [1, 0])
  }
}
