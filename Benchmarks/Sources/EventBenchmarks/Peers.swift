import BenchmarkKit

/// Returns all peers that the benchmarks measure. A peer is a library, or one way to use it. Each
/// line calls an adapter: code that makes the peers of one library or of one hand-written design.
func everyPeer() -> [Peer] {
  eventingPeers()
    + localEventPeers()
    + loopLimits()
    + tableLimits()
    + lockLimits()
    + epochLimits()
    + actorLimits()
    + laneLimits()
    + naiveActorPeers()
    + naiveLockPeers()
    + notificationCenterPeers()
    + openCombinePeers()
    + asyncStreamPeers()
    + asyncChannelPeers()
    + sharedSequencePeers()
    + boostPeers()
}

/// A handler as most libraries store it.
typealias Body = @Sendable (Int) -> Void

/// Returns the handler of a cell, for most adapters.
///
/// All such handlers are made here. Of several closures that are alike, the compiler keeps one, and
/// makes the others call the kept one. With that extra call, the others would be slower than in a
/// program whose handlers differ.
@inline(never) func hitting(_ cell: Cell) -> Body { { cell.hit($0) } }
