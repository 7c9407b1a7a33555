import BenchmarkKit

/// Foundation's NotificationCenter, in its three forms.
func notificationCenterPeers() -> [Peer] { [userInfoNotifications(), mainActorMessages(), asyncMessages()] }

/// Whose notifications they are.
final class NotificationSubject: Sendable {}
