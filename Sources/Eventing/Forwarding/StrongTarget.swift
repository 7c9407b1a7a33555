import Dispatch

/// A strong reference to the target of a forward.
///
/// Releasing a chain of such forwards recurses: the end of each target releases the next. After 32
/// targets the release continues on a queue, so that a chain of any length fits the stack.
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
      // The block takes over the reference of this object. If this thread retained the target for
      // the block, the last release could happen on this deep stack. The queue is private: in a
      // shared pool, other blocks that wait could delay the rest of the chain.
      Scheduling.block(on: DispatchQueue(label: "eventing.release")) { unsafe target.release() }
    }
  }
}

/// The number of targets of forwards whose releases are under way on this stack, each within the
/// one before.
private enum ReleaseDepth {
  @TaskLocal static var current = 0
}
