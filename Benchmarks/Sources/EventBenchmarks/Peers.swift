import BenchmarkKit

/// Returns all peers, with one line for each adapter.
func everyPeer() -> [Peer] {
  eventingPeers()
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
