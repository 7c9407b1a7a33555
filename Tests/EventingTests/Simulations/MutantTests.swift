#if DEBUG
  import Eventing
  import EventingTesting
  import Testing

  /// Checks that the simulations find each planted fault within 1,000 seeds.
  @Suite(.serialized, .fewAtATime) struct MutantTests {
    @Test(arguments: Mutant.allCases) func aPlantedFaultIsFound(mutant: Mutant) async {
      let (needed, said) = await onThread { MutantTests.look(for: mutant) }
      #expect(needed.count == 5, "not found by 1,000 seeds")
      print(
        "mutant \(mutant.rawValue): \(needed.sorted().dropFirst(needed.count / 2).first ?? 0) seeds, \(said.sorted().joined(separator: " | "))"
      )
    }

    /// Searches five times for a seed that shows the fault.
    ///
    /// - Returns: How many seeds each successful search needed, and the reported failures.
    private static func look(for mutant: Mutant) -> (needed: [Int], said: Set<String>) {
      let isModified = [.retryLosesItsPlace, .batchIsTooLarge, .paceForgetsTheLast, .keysOverlap, .sharedLaneOverlaps]
        .contains(mutant)
      let modes = SimulatedTests.modes.filter { $0.isModified == isModified }
      var (needed, said): ([Int], Set<String>) = ([], [])
      var seed = UInt64(0)
      for _ in 0..<5 {
        for count in 1...1_000 {
          seed += 1
          let (mode, chosen) = (modes[Int(seed) % modes.count], seed)
          do {
            try Simulation.run(seed: seed, mutant: mutant) { try await SimulatedTests.program(mode, seed: chosen) }
          } catch {
            needed.append(count)
            said.insert(String("\(error)".prefix { $0 != ":" && $0 != ";" }))
            // Without the fault the seed passes, so the fault caused the failure.
            #expect(throws: Never.self) {
              try Simulation.run(seed: seed) { try await SimulatedTests.program(mode, seed: chosen) }
            }
            break
          }
        }
      }
      return (needed, said)
    }
  }
#endif
