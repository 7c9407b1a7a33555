import Dispatch

/// Keeps the target of a forward alive.
///
/// A chain of them goes link by link, each because of the one before; so that it fits any stack, a queue releases the rest now and then.
@safe final class Kept<Payload: Sendable>: Sendable {
  // Safe: retained from the first to the last, and released once.
  private let target: Unmanaged<Event<Payload>>

  init(_ target: Event<Payload>) { unsafe self.target = .passRetained(target) }

  deinit {
    let depth = ReleaseDepth.current
    let target = unsafe target
    if depth < 32 {
      ReleaseDepth.$current.withValue(depth + 1) { unsafe target.release() }
    } else {
      let event = unsafe target.takeRetainedValue()
      Scheduling.block(on: .global()) { withExtendedLifetime(event) {} }
    }
  }
}

private enum ReleaseDepth {
  @TaskLocal static var current = 0
}
