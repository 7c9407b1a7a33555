#if DEBUG
  import Synchronization
  import Testing

  @testable import Eventing

  /// Tests of the number of steps under the one mutex of the wait graph. Steps of other tests that
  /// run at the same time are counted, too, so the best of three attempts counts.
  @Suite(.serialized, .fewAtATime) struct WaitCostTests {
    /// Returns the number of steps for each of `count` sends that one handler call makes at a time.
    private func steps(_ count: Int, isQuiesce: Bool) async -> Double {
      let (start, rooms) = (Event<Int>(), (0..<count).map { _ in Event<Int>() })
      let gate = Gate()
      let arrived = Countdown(count)
      for room in rooms {
        room.addHandler { (_: Int) async in
          arrived.arrive()
          await gate.opened()
        }
      }
      start.addHandler { number async in
        await withTaskGroup(of: Void.self) { group in
          for room in rooms {
            group.addTask {
              if isQuiesce {
                room.post(number)
                await room.quiesce()
              } else {
                await room.send(number)
              }
            }
          }
          await arrived.opened()
          gate.open()
        }
      }
      let before = WaitGraph.steps.load(ordering: .relaxed)
      await start.send(1)
      return Double(WaitGraph.steps.load(ordering: .relaxed) - before) / Double(count)
    }

    @Test(arguments: [false, true]) func aWaitOfACallCostsTheSameAmongManyAsAmongFew(isQuiesce: Bool) async {
      var best = Double.infinity
      for _ in 0..<3 where best > 2 {
        let few = await steps(100, isQuiesce: isQuiesce)
        best = min(best, await steps(1_000, isQuiesce: isQuiesce) / few)
      }
      #expect(best <= 2)  // about 10 if a wait cost a step for each other wait of the call
    }
  }
#endif
