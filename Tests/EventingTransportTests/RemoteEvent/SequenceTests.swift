import Eventing
import EventingTesting
import EventingTransport
import Testing

/// Tests of guarantee R3 of PROOF.md for `for await` loops: a message counts as handled when the
/// loop asks for the next element.
@Suite(.timeLimit(.minutes(10))) struct RemoteSequenceTests {
  @Test func whatALoopWorkedOnWhenItEndedComesAgain() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (first, second) = (Notes<Int>(), Notes<Int>())
      let numbers = event.payloads()
      try await event.listen(as: "one")
      for number in 1...5 { try await event.publish(number) }
      let task = Task(executorPreference: EventContext.executor) {
        for await number in numbers {
          first.note(number)
          if number == 3 { break }
        }
      }
      await task.value
      try await clock.sleep(for: .seconds(1))
      try require(first.values == [1, 2, 3], "\(first.values)")
      let again = Task(executorPreference: EventContext.executor) {
        for await occurrence in event.remoteOccurrences.payloads() {
          second.note(occurrence.payload)
          if second.count == 3 { break }
        }
      }
      await again.value
      try require(second.values == [3, 4, 5], "\(second.values)")
    }
  }

  @Test func whatACancelledLoopWorkedOnComesAgain() throws {
    try simulate { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let (done, again) = (Notes<Int>(), Notes<Int>())
      let numbers = event.payloads()
      let loop = Task(executorPreference: EventContext.executor) {
        for await number in numbers {
          // The cancellation interrupts the work, and the loop asks for the next element.
          do {
            try await clock.sleep(for: .seconds(10))
            done.note(number)
          } catch {}
        }
      }
      try await event.listen(as: "one")
      try await event.publish(1)
      try await clock.sleep(for: .seconds(1))
      loop.cancel()
      await loop.value
      event.addHandler { again.note($0) }
      try await clock.sleep(for: .seconds(5))
      try require(done.values.isEmpty && again.values == [1], "\(done.values) \(again.values)")
    }
  }

  @Test func aMessageOfALoopIsInHandUntilTheNextOneIsAskedFor() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      let numbers = event.payloads()
      let listening = try await event.listen(as: "one", inFlight: 1)
      for number in 1...3 { try await event.publish(number) }
      let task = Task(executorPreference: EventContext.executor) {
        for await number in numbers {
          notes.note(number)
          try? await clock.sleep(for: .seconds(10))
        }
      }
      try await clock.sleep(for: .seconds(5))
      try require(notes.values == [1], "\(notes.values)")
      try await clock.sleep(for: .seconds(10))
      try require(notes.values == [1, 2], "\(notes.values)")
      await listening.drain(within: .seconds(100))
      event.finish()
      await task.value
      try require(notes.values == [1, 2], "\(notes.values)")
    }
  }

  @Test func batchesCountAsAWhole() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let (notes, rest) = (Notes<[Int]>(), Notes<Int>())
      let batches = event.batches(of: 2).payloads(named: "batches")
      try await event.listen(as: "one")
      for number in 1...4 { try await event.publish(number) }
      try await clock.sleep(for: .milliseconds(1))
      let task = Task(executorPreference: EventContext.executor) {
        for await batch in batches {
          notes.note(batch)
          if notes.count == 2 { break }
        }
      }
      await task.value
      try require(notes.values == [[1, 2], [3, 4]], "\(notes.values)")
      try require(event.handlerCount <= 1, "\(event.handlerCount)")
      event.removeAll(where: .named("batches"))
      event.addHandler { rest.note($0) }
      try await clock.sleep(for: .seconds(1))
      try require(rest.values.sorted() == [3, 4], "\(rest.values)")
      withExtendedLifetime(batches) {}
    }
  }

  @Test func anElementThatANewerOneReplacesIsHandled() throws {
    try simulate { clock in
      let event = RemoteEvent<Int>("numbers", over: InMemoryTransport(clock: clock))
      let notes = Notes<Int>()
      let numbers = event.payloads(buffering: .latest)
      try await event.listen(as: "one")
      for number in 1...5 { try await event.publish(number) }
      try await clock.sleep(for: .seconds(1))
      for await number in numbers {
        notes.note(number)
        if number == 6 { break }
        try await event.publish(6)
      }
      try await clock.sleep(for: .seconds(1))
      try require(notes.values == [5, 6], "\(notes.values)")
    }
  }

  @Test func aDroppedElementComesAgain() throws {
    try simulate { clock in
      let bus = InMemoryTransport(clock: clock)
      let event = RemoteEvent<Int>("numbers", over: bus)
      let notes = Notes<Int>()
      let numbers = event.payloads(buffering: .newest(2))
      try await event.listen(as: "one")
      for number in 1...5 { try await event.publish(number) }
      let task = Task(executorPreference: EventContext.executor) {
        for await number in numbers {
          notes.note(number)
          if Set(notes.values).count == 5 { break }
        }
      }
      await task.value
      try require(Set(notes.values) == [1, 2, 3, 4, 5], "\(notes.values)")
    }
  }
}
