import Testing

#if DEBUG
  @testable import Eventing

  /// Tests of the checks that debug builds make for guarantee G20: while a thread holds a mutex of
  /// the package, the thread locks no other mutex, and releases no object of users.
  @Suite(.fewAtATime) struct MutexCheckTests {
    @Test func takingAMutexUnderAnotherStops() async {
      await #expect(processExitsWith: .failure) { UnfairMutex().withLock { UnfairMutex().withLock {} } }
    }

    @Test func readingAnOwnerUnderAMutexStops() async {
      await #expect(processExitsWith: .failure) {
        let object = Plain()
        let owner = Eventing.Owner(object)
        let isThere = UnfairMutex().withLock { owner.object != nil }
        withExtendedLifetime(object) { print(isThere) }
      }
    }

    @Test func takingOneMutexAfterAnotherIsFine() async {
      await #expect(processExitsWith: .success) {
        let (one, two) = (MutexOwner(), MutexOwner())
        for _ in 0..<3 {
          one.mutex.withLock {}
          two.mutex.withLock {}
        }
        let object = Plain()
        #expect(Eventing.Owner(object).object != nil)
      }
    }

    private final class MutexOwner: Sendable { let mutex = UnfairMutex() }
  }
#endif
