import Dispatch

/// Keeps the target of a forward alive.
///
/// A chain of them goes link by link, each because of the one before; so that it fits any stack, a queue releases the rest now and then.
@safe final class StrongTarget<Payload: Sendable>: Sendable {
  // Safe: retained from the first to the last, and released once.
  private let target: Unmanaged<Event<Payload>>

  init(_ target: Event<Payload>) { unsafe self.target = .passRetained(target) }

  deinit {
    let depth = ReleaseDepth.current
    let target = unsafe target
    if depth < 32 {
      ReleaseDepth.$current.withValue(depth + 1) { unsafe target.release() }
    } else {
      // The reference itself goes into the block: with one held here, too, the caller could be the last to let go, with its stack as deep as it is.
      // On a queue of its own: a pool that others block would keep the rest of the chain from its end.
      Scheduling.block(on: DispatchQueue(label: "eventing.release")) { unsafe target.release() }
    }
  }
}

private enum ReleaseDepth {
  @TaskLocal static var current = 0
}
