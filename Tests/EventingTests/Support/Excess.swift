import Synchronization

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

extension Event {
  /// What an idle event has too much of, if it has that many handlers. The next post is as quick as ever if there are no more rows than handlers.
  nonisolated func excess(over handlers: Int = 0) async -> String? {
    #if DEBUG
      var own: UInt = 0  // inside, where it may look: a lane that ends comes in, too
      guard
        await eventually({
          own = mailbox.enter()
          return own != 0
        })
      else { return "it is busy" }
      defer { mailbox.leave(own) }
      var found: [String] = []
      func look(_ what: String, _ amount: Int, _ limit: Int) { if amount > limit { found.append("\(what): \(amount)") } }
      look("rows", Int(mailbox.table.count), 2 * handlers)
      unsafe mailbox.table.forEachBand { band in unsafe look("room for rows", Int(band.pointee.capacity), 64) }
      unsafe look("bands", mailbox.table.index.count, 2)
      if let backlog = mailbox.backlogReference.load() {
        let limit = 2 * Flood.limit
        look("occurrences counted", backlog.occurrences, 0)
        look("pressure", backlog.pressure.isOn.load(ordering: .relaxed) ? 1 : 0, 0)
        look("room for queued items", backlog.queue.capacity, limit)
        look("room for items", backlog.pending.capacity, limit)
        look("room for adds", backlog.joining.capacity, limit)
        look("room for removals", backlog.leaving.capacity, limit)
        look("room for the retired", backlog.retired.capacity, limit)
        look("ended lanes", backlog.ending.count, 64)
        look("room for ended lanes", backlog.ending.capacity, limit)
      }
      return found.isEmpty ? nil : found.joined(separator: ", ")
    #else
      return nil
    #endif
  }
}
