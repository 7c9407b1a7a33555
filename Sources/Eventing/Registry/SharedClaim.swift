/// The claim that a handler shares with handlers of other events, such as those of one handler in
/// all events of a bus.
///
/// Each of them claims a call for itself, and then for the one record that they share. So a removal
/// of that record holds for all of them on return, and only one of them uses it up. This value
/// retains no closure of the user, as the record of the handler must not.
@usableFromInline struct SharedClaim: Sendable {
  let record: HandlerRecord
  /// The event of the shared record, which lives as long as a handler that claims for it: a call
  /// that waits on a lane of a finished event is still claimed.
  private let registration: Event<NoPayload>
  /// The anchor of the handler's own event.
  private let own: EventAnchor

  init(_ record: HandlerRecord, of registration: Event<NoPayload>, in event: EventAnchor) {
    (self.record, self.registration, own) = (record, registration, event)
  }

  /// Ends a handler whose shared record has ended. Its own claim may have used it up already.
  func end(_ handler: HandlerRecord) {
    if !own.remove(handler) { own.core?.requestUnregistration(handler) }
  }

  /// Unregisters the shared record if a call has used it up. Called directly after the claim.
  func endIfSpent() {
    if record.has(HandlerFlags.spent) { registration.core.requestUnregistration(record) }
  }
}
