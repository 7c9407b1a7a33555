import Dispatch

/// Releasing a chain of such forwards recurses. After 32 targets the release continues on a queue,
/// so that a chain of any length fits the stack.
@safe final class StrongTarget<Payload: Sendable>: Sendable {
  // Safe: retained in `init`, and released once, in `deinit`.
  private let target: Unmanaged<Event<Payload>>

  init(_ target: Event<Payload>) { unsafe self.target = .passRetained(target) }

  deinit {
    let depth = ReleaseDepth.current
    let target = unsafe target
    if depth < 32 {
      ReleaseDepth.$current.withValue(depth + 1) { unsafe target.release() }
    } else {
      // This stack already has 32 nested releases, so a block releases the target. The block takes
      // over this object's reference. If the block had a reference of its own, the last release
      // could still happen on this thread, and recurse into the next target of the chain. The queue
      // is private. In a shared pool, blocks of other code, which may wait for something, could
      // delay this block, and with it the release of the next targets.
      Scheduling.block(on: DispatchQueue(label: "eventing.release")) { unsafe target.release() }
    }
  }
}

private enum ReleaseDepth {
  @TaskLocal static var current = 0
}
