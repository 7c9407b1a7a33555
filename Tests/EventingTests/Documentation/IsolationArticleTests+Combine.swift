// Compiled where Combine exists, and by Tests/Platforms over OpenCombine.
#if canImport(Combine)
  // Not through the module Combine of Tests/Platforms: the compiler checks the isolation of a
  // closure at runtime if its caller's module does not have Swift 6's checks, and that module has.
  #if canImport(OpenCombine)
    import OpenCombine
  #else
    import Combine
  #endif
  import Testing

  /// Runs the program of the article "Isolation" that traps.
  @Suite(.timeLimit(.minutes(5))) struct IsolationTrapTests {
    @MainActor final class OrderTable {
      var rows: [Int] = []
      private var subscriptions: Set<AnyCancellable> = []

      init(_ orders: PassthroughSubject<Int, Never>) {
        orders.sink { order in self.rows.append(order) }.store(in: &subscriptions)
      }
    }

    @Test func aClosureOfTheMainActorTrapsElsewhere() async {
      await #expect(processExitsWith: .failure) {
        nonisolated(unsafe) let orders = PassthroughSubject<Int, Never>()
        let table = await OrderTable(orders)
        await Task.detached { unsafe orders.send(1) }.value
        withExtendedLifetime(table) {}
      }
    }

    @Test func theSameClosureIsCalledOnTheMainActor() async {
      nonisolated(unsafe) let orders = PassthroughSubject<Int, Never>()
      let table = await OrderTable(orders)
      await MainActor.run { unsafe orders.send(1) }
      #expect(await table.rows == [1])
    }
  }
#endif
