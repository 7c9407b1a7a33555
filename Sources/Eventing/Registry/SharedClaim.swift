/// The claim that a handler of one event shares with those of other events, as the handlers of one
/// bus handler do.
///
/// Each of them claims a call for itself, and then for the one record that they share. So a removal
/// of that record holds for all of them on return, and only one of them uses it up.
///
/// The handler behind a view of batches shares the record of the batches, whose call has been
/// claimed. It only looks whether that record was removed since.
///
/// The record of the handler holds this object, and may be released under a mutex. So nothing here
/// retains an event: its release would run closures' `deinit`s under that mutex.
@usableFromInline final class SharedClaim: Sendable {
  private let record: HandlerRecord
  private let isClaimed: Bool
  private weak let handler: BusHandler?
  /// The anchor of the handler's own event.
  private weak let own: EventAnchor?

  init(_ record: HandlerRecord, of handler: BusHandler, in event: EventAnchor) {
    self.record = record
    isClaimed = false
    self.handler = handler
    own = event
  }

  init(ofBatches record: HandlerRecord, in event: EventAnchor) {
    self.record = record
    isClaimed = true
    handler = nil
    own = event
  }

  func claim() -> Bool { isClaimed ? !isRemoved : record.claim() }

  private var isRemoved: Bool {
    record.has(HandlerFlags.removed) || record.details?.options.sharedClaim?.isRemoved ?? false
  }

  /// Returns a closure that also retains the bus handler. So that one lives as long as calls of the
  /// closure wait on a lane.
  func kept(by body: HandlerBody) -> HandlerBody { body.retaining(handler) }

  /// Ends a handler whose shared record has ended. Its own claim may have used it up already. Never
  /// called under a mutex.
  func end(_ handler: HandlerRecord) {
    guard let own else { return }
    if !own.remove(handler) { own.core?.requestUnregistration(handler) }
  }

  /// Unregisters the shared record if a call has used it up. Called after the claim, for an inline
  /// call after its end, and never under a mutex.
  func endIfSpent() { handler?.endIfSpent() }
}
