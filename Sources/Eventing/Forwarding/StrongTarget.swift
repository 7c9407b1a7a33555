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
      // The block takes over this object's reference to the target. If this thread retained the
      // target for the block, the last release could happen here, and recurse into the targets that
      // follow. But the stack of this thread is deep with 32 nested releases already. The queue is
      // private: in a shared pool, other code's blocks, which may wait for something, could delay
      // this one, and so the release of the targets that follow.
      Scheduling.block(on: DispatchQueue(label: "eventing.release")) { unsafe target.release() }
    }
  }
}

/// The number of nested releases on this stack. Each ends an event that is the target of a forward,
/// and within it the next release ends the event to which that event forwarded.
private enum ReleaseDepth {
  @TaskLocal static var current = 0
}
