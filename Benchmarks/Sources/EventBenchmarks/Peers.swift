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
/// All such handlers are made here. If several closures are alike, the compiler keeps one and makes
/// the others call it. That extra call would make them slower than the handlers of a program whose
/// handlers differ.
@inline(never) func hitting(_ cell: Cell) -> Body { { cell.hit($0) } }
