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
