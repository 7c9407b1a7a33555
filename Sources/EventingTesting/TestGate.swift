import Eventing
import Synchronization

final class TestGate: Sendable {
  private let isOpen = Atomic<Bool>(false)
  private let signal = Event<NoPayload>(untold: nil)

  init() {}

  /// Opens the gate for ever.
  func open() {
    isOpen.publish(true)
    signal.finish()
  }

  /// Returns if the task is cancelled, too.
  func opened() async {
    let ends = signal.payloads()
    if !isOpen.load(ordering: .acquiring) { for await _ in ends {} }
  }

  /// Returns if the time has passed, too.
  func opened(within limit: Duration, _ clock: any Clock<Duration>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [self] in await opened() }
      group.addTask { try? await Sleeping.sleep(for: limit, on: clock) }
      await group.next()
      group.cancelAll()
    }
  }
}
