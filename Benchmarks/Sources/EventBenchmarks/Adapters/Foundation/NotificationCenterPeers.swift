import BenchmarkKit

/// Returns the peers for the three forms of Foundation's NotificationCenter.
func notificationCenterPeers() -> [Peer] { [userInfoNotifications(), mainActorMessages(), asyncMessages()] }

/// The object that the notifications are about.
final class NotificationSubject: Sendable {}
