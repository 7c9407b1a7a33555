import BenchmarkKit

/// Everything that can be measured: one line for each adapter.
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

/// What a handler does, in most adapters. Made in one place: of closures that are alike the compiler makes one and calls to it, and handlers that call
/// another function take longer than those of a program whose handlers differ.
@inline(never) func hitting(_ cell: Cell) -> Body { { cell.hit($0) } }
