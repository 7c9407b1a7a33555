/// Each handler of a bus handler claims a call for itself, and then for the shared record. So a
/// removal of that record holds for all of them on return, and only one of them uses it up.
///
/// The handler behind a view of batches shares the record of the batches, whose call is claimed. It
/// only looks whether that record was removed since.
///
/// The record may be released under a mutex, so nothing here retains an event, whose release would
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
    // A bus handler that is used up ends in all events while its only call goes on.
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

  /// Called after the claim, for an inline call after its end, and never under a mutex.
  func endIfSpent() { handler?.endIfSpent() }
}
