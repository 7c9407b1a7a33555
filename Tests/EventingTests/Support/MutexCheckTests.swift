import Testing

#if DEBUG
  @testable import Eventing

  /// G20, as debug builds check it: while a thread holds a lock of the package it takes no other,
  /// and releases nothing of its users.
  @Suite(.fewAtATime, .timeLimit(.minutes(30))) struct MutexCheckTests {
    @Test func takingALockUnderAnotherStops() async {
      await #expect(processExitsWith: .failure) { UnfairMutex().withLock { UnfairMutex().withLock {} } }
    }

    @Test func readingAnOwnerUnderALockStops() async {
      await #expect(processExitsWith: .failure) {
        let object = Plain()
        let owner = Eventing.Owner(object)
        let isThere = UnfairMutex().withLock { owner.object != nil }
        withExtendedLifetime(object) { print(isThere) }
      }
    }

    @Test func oneLockAfterTheOtherIsFine() async {
      await #expect(processExitsWith: .success) {
        let (one, two) = (Kept(), Kept())
        for _ in 0..<3 {
          one.mutex.withLock {}
          two.mutex.withLock {}
        }
        let object = Plain()
        #expect(Eventing.Owner(object).object != nil)
      }
    }

    private final class Kept: Sendable { let mutex = UnfairMutex() }
  }
#endif
