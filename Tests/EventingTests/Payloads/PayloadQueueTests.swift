#if DEBUG
  import Testing

  @testable import Eventing

  /// Tests random changes of a payload queue, on one thread, and compares it with an array.
  @Suite(.fewAtATime) struct PayloadQueueTests {
    struct Header: PayloadHeader {
      var label: Int
      let hasPayload: Bool
    }

    /// Checks the assumption of ``PayloadLayout/largestAlignment``.
    @Test func noTypeIsAlignedToMoreThanTheMemoryOfPayloads() {
      #expect(MemoryLayout<SIMD4<Int>>.alignment <= PayloadLayout.largestAlignment)
      #expect(MemoryLayout<SIMD64<Double>>.alignment <= PayloadLayout.largestAlignment)
      #expect(MemoryLayout<(UInt8, SIMD16<UInt64>)>.alignment <= PayloadLayout.largestAlignment)
    }

    @Test func randomChangesKeepOrderAndDestroyEachPayloadOnce() {
      var random = SeededGenerator.fresh("payload queue")
      for shape in PayloadPathTests.shapes {
        for _ in 0..<20 { check(shape, &random) }
      }
    }

    private func check<Payload: TestPayload>(_: Payload.Type, _ random: inout SeededGenerator) {
      let live = LiveCount()
      do {
        var queue = PayloadQueue<Header>(Payload.self)
        var other = PayloadQueue<Header>(Payload.self)
        var expected: [(label: Int, number: Int?)] = []
        for step in 1...300 {
          let number = step % 100 + 1
          switch Int.random(in: 0..<12, using: &random) {
          case 0...3:
            lend(Payload.make(number, live)) { queue.append(Header(label: step, hasPayload: true), $0) }
            expected.append((step, Payload.make(number, live).number))
          case 4:
            queue.append(Header(label: step, hasPayload: false))
            expected.append((step, nil))
          case 5...6 where !queue.isEmpty: take(Payload.self, &queue, &expected, destroys: true)
          case 7 where !queue.isEmpty:
            let header = queue.takeFirst()
            queue.untake(header)
          case 8 where !queue.isEmpty:
            let distance = Int.random(in: 0..<queue.count, using: &random)
            let header = queue.remove(at: distance)
            #expect(header.label == expected.remove(at: distance).label)
          case 9 where !queue.isEmpty && queue.first.hasPayload:
            // Moves the first payload to another queue, and from there to the end.
            let header = queue.takeFirst()
            let first = expected.removeFirst()
            other.append(header, takenFrom: &queue)
            _ = other.takeFirst()
            queue.append(header, takenFrom: &other)
            other.recycle()
            expected.append(first)
          case 10:
            let copy = queue.copy()
            let count = copy.count
            #expect(count == expected.count)
          case 11 where step.isMultiple(of: 7):
            queue.reverse()
            expected.reverse()
          default: queue.recycle()
          }
          let count = queue.count
          #expect(count == expected.count)
        }
        while !queue.isEmpty, expected.count > 20 {
          take(Payload.self, &queue, &expected, destroys: !expected.count.isMultiple(of: 2))
        }
      }
      #expect(live.alive == 0, "\(Payload.self): \(live.alive) are alive")
    }

    private func take<Payload: TestPayload>(
      _: Payload.Type, _ queue: inout PayloadQueue<Header>, _ expected: inout [(label: Int, number: Int?)],
      destroys: Bool
    ) {
      let header = queue.takeFirst()
      let first = expected.removeFirst()
      #expect(header.label == first.label)
      #expect(header.hasPayload == (first.number != nil))
      guard header.hasPayload else { return }
      #expect(isAligned(queue.taken, Payload.self), "\(Payload.self) in a queue")
      let taken = queue.taken.payload(Payload.self).number
      #expect(taken == first.number)
      if destroys {
        queue.destroyTaken()
      } else {
        let parcel = queue.ownedPayloadOfTaken()
        #expect(isAligned(parcel.borrowed, Payload.self), "an owned \(Payload.self)")
        let moved = parcel.borrowed.payload(Payload.self).number
        #expect(moved == first.number)
      }
    }

    /// Whether the address of a payload is a multiple of the alignment of its type.
    private func isAligned<Payload: TestPayload>(_ payload: BorrowedPayload, _: Payload.Type) -> Bool {
      unsafe UInt(bitPattern: payload.address) % UInt(MemoryLayout<Payload>.alignment) == 0
    }

    @Test func aQueueThatHeldManyPayloadsGivesItsMemoryBack() {
      var queue = PayloadQueue<PayloadAlone>(Int.self)
      for number in 0..<10_000 { lend(number) { queue.append(PayloadAlone(), $0) } }
      while !queue.isEmpty {
        _ = queue.takeFirst()
        queue.destroyTaken()
      }
      queue.recycle()
      let capacity = queue.capacity
      #expect(capacity == 0)
    }
  }
#endif
