import Eventing
import Synchronization

/// A gate that is closed until it is opened once.
final class TestGate: Sendable {
  private let isOpen = Atomic<Bool>(false)
  private let signal = Event<NoPayload>(untold: nil)

  init() {}

  /// Opens the gate for ever.
  func open() {
    isOpen.publish(true)
    signal.finish()
  }

  /// Waits until the gate is open, or the task is cancelled.
  func opened() async {
    let ends = signal.payloads()
    if !isOpen.load(ordering: .acquiring) { for await _ in ends {} }
  }

  /// Waits until the gate is open, or the time has passed.
  func opened(within limit: Duration, _ clock: any Clock<Duration>) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [self] in await opened() }
      group.addTask { try? await Sleeping.sleep(for: limit, on: clock) }
      await group.next()
      group.cancelAll()
    }
  }
}
