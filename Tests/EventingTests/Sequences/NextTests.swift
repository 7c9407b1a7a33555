import Eventing
import EventingTesting
import Testing

/// Tests of `next`, which waits for the next payload that meets a condition.
@Suite(.fewAtATime) struct NextTests {
  @Test("108: the next payload that fits is awaited")
  func theNextPayloadThatFitsIsAwaited() async throws {
    let event = Event<Int>()
    let next = Task { try await event.next { $0 > 2 } }
    #expect(await eventually { event.handlerCount == 1 })
    for number in 1...4 { event.post(number) }
    #expect(try await next.value == 3)
    #expect(event.handlerCount == 0)
  }

  @Test func severalValuesViewsAndKeys() async throws {
    let (resized, keyed) = (Event<(Int, Int)>(), KeyedEvent<String, Int>())
    let one = Task { try await resized.next(within: .seconds(300)) { width, height in width > height } }
    let two = Task { try await keyed["a"].map { "\($0)" }.next() }
    #expect(await eventually { resized.handlerCount == 1 && keyed.handlerCount == 1 })
    resized.post((1, 2))
    resized.post((2, 1))
    keyed.post(1, to: "b")
    keyed.post(2, to: "a")
    #expect(try await one.value == (2, 1))
    #expect(try await two.value == "2")
  }

  @Test func aTimeoutIsAnErrorThatSaysSo() async {
    let (event, clock) = (Event<Int>(), ManualClock())
    let next = Task { try await event.next(within: .seconds(2), clock: clock) { $0 > 5 } }
    #expect(await eventually { clock.sleeperCount == 1 })
    event.post(1)
    clock.advance(by: .milliseconds(1_999))
    for _ in 0..<50 { await Task.yield() }
    #expect(event.handlerCount == 1)
    clock.advance(by: .milliseconds(1))
    let error = await #expect(throws: EventingError.self) { try await next.value }
    #expect(error == .timedOut)
    #expect(error?.description == "expected a payload of Int within 2.0 seconds; none came that fits")
    #expect(event.handlerCount == 0)
  }

  @Test func anErrorIsCaughtByItsKind() async {
    let event = Event<Int>()
    event.finish()
    do {
      _ = try await event.next()
      Issue.record("an ended event has a next payload")
    } catch EventingError.timedOut {
      Issue.record("the kind is another one")
    } catch EventingError.eventEnded {
    } catch {
      Issue.record("\(error)")
    }
    #expect(!(EventingError.eventEnded ~= CancellationError()) && EventingError.eventEnded != .timedOut)
  }

  @Test func aPayloadInTimeEndsTheTimeLimit() async throws {
    let (event, clock) = (Event<Int>(), ManualClock())
    let next = Task { try await event.next(within: .seconds(2), clock: clock) }
    #expect(await eventually { clock.sleeperCount == 1 && event.handlerCount == 1 })
    event.post(1)
    #expect(try await next.value == 1)
    #expect(clock.sleeperCount == 0 && event.handlerCount == 0)
  }

  @Test(arguments: [nil, Duration.seconds(300)]) func theEndOfTheEventIsAnError(limit: Duration?) async {
    let event = Event<Int>()
    let next = Task { try await event.next(within: limit) { $0 > 1 } }
    #expect(await eventually { event.handlerCount == 1 })
    event.post(1)
    event.finish()
    let error = await #expect(throws: EventingError.self) { try await next.value }
    #expect(error == .eventEnded)
    let late = await #expect(throws: EventingError.self) { try await event.next(within: limit) }
    #expect(late == .eventEnded)
  }

  @Test(arguments: [nil, Duration.seconds(300)]) func cancellingIsAnError(limit: Duration?) async {
    let event = Event<Int>()
    let next = Task { try await event.next(within: limit) }
    #expect(await eventually { event.handlerCount == 1 })
    next.cancel()
    await #expect(throws: CancellationError.self) { try await next.value }
    #expect(event.handlerCount == 0)
    let early = await inCancelledTask { await Result { try await event.next(within: limit) } }
    #expect(throws: CancellationError.self) { try early.get() }
    #expect(event.handlerCount == 0)
  }

  @Test func anErrorOfTheConditionIsThrown() async {
    struct Odd: Error {}
    let event = Event<Int>()
    let next = Task { try await event.next(within: .seconds(300)) { if $0 == 3 { throw Odd() } else { false } } }
    #expect(await eventually { event.handlerCount == 1 })
    for number in 1...3 { event.post(number) }
    await #expect(throws: Odd.self) { try await next.value }
  }

  @Test func theLongestTimeThereIsIsLongEnough() async {
    // A trap in the clock's arithmetic would end the process, so the test has a process of its own.
    await #expect(processExitsWith: .success) {
      endProcessIfItHangs()
      let (event, question) = (Event<Int>(), EventQuestion<Int, Int>())
      let limits = [Duration.seconds(Int64.max), .seconds(Int64.max / 2), .seconds(10_000_000_000)]
      for limit in limits {
        let next = Task { try? await event.next(within: limit) }
        #expect(await eventually { event.handlerCount == 1 })
        for _ in 0..<100 { await Task.yield() }  // by now the two tasks that `next(within:)` starts usually run
        event.post(1)
        #expect(await next.value == 1)
      }
      question.addResponder { number in
        for _ in 0..<100 { await Task.yield() }
        return number
      }
      for limit in limits {
        let first = try? await question.firstAnswer(to: 2, within: limit)
        #expect(first == 2)
        #expect(await question.answers(to: 3, within: limit).count == 1)
      }
    }
  }

  @Test func aPastPayloadComesBeforeALimitOfZero() async throws {
    let (volume, numbers) = (Event<Int>(replaying: .current(1)), Event<Int>(replaying: .last(3)))
    for number in 1...3 { numbers.post(number) }
    for _ in 0..<2_000 {
      #expect(try await volume.next(within: .zero) == 1)
      #expect(try await numbers.next(within: .zero) { $0 > 2 } == 3)
    }
    let error = await #expect(throws: EventingError.self) { try await numbers.next(within: .zero) { $0 > 3 } }
    #expect(error == .timedOut)
    #expect(numbers.handlerCount == 0 && volume.handlerCount == 0)
    let later = Task { try await numbers.next(within: .seconds(300)) { $0 > 3 } }
    #expect(await eventually { numbers.handlerCount == 1 })
    numbers.post(4)
    #expect(try await later.value == 4)
  }

  @Test func aTaskThatWaitsInNextKeepsTheEventAlive() async throws {
    var event: Event<Int>? = Event()
    weak let weakEvent = event
    let next = Task { [event] in try await event?.next() }
    #expect(await eventually { event?.handlerCount == 1 })
    event = nil
    weakEvent?.post(1)
    #expect(try await next.value == 1)
    #expect(await eventually { weakEvent == nil })
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
