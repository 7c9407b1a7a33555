/// Each of a bus handler's handlers claims a call for itself and then for the shared record.
/// Removing that record therefore takes effect for all of them before the removal returns, and only
/// one of them can use it up.
///
/// The handler behind a view of batches shares the record of the batches, whose call has already
/// been claimed, so it only checks whether that record has been removed since.
///
/// The record may be released under a mutex, so nothing here retains an event: releasing one would
/// run closures' `deinit`s.
@usableFromInline final class SharedClaim: Sendable {
  private let record: HandlerRecord
  private let isClaimed: Bool
  private weak let handler: BusHandler?
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

  var isRemoved: Bool {
    // A used-up bus handler ends in all events while its only call is still running.
    if record.has(HandlerFlags.spent), !isClaimed { return false }
    guard isClaimed, let shared = record.details?.options.sharedClaim else { return record.has(HandlerFlags.removed) }
    return shared.isRemoved || record.has(HandlerFlags.removed) && !shared.record.has(HandlerFlags.spent)
  }

  func kept(by body: HandlerBody) -> HandlerBody { body.retaining(handler) }

  /// Works even if the handler's own claim has used it up. Never called under a mutex.
  func end(_ handler: HandlerRecord) {
    guard let own else { return }
    if !own.remove(handler) { own.core?.requestUnregistration(handler) }
  }

  /// Called after the claim or, for an inline call, after the call has ended. Never called under a
  /// mutex.
  func endIfSpent() { handler?.endIfSpent() }
}
