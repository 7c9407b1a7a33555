import Synchronization

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

extension Event {
  /// The memory that an idle event keeps beyond the needs of its handlers. Slots of ended handlers
  /// count, because each post visits them. `nil` if there is none, and always in release builds.
  nonisolated func excess(over handlers: Int = 0) async -> String? {
    #if DEBUG
      // The fields may be read only inside the core. A lane that ends also enters the core, so
      // entering may need several attempts.
      var own: UInt = 0
      guard
        await eventually({
          own = core.enter()
          return own != 0
        })
      else { return "it is busy" }
      defer { core.leave(own) }
      var found: [String] = []
      func look(_ what: String, _ amount: Int, _ limit: Int) {
        if amount > limit { found.append("\(what): \(amount)") }
      }
      look("slots", Int(core.table.count), 2 * handlers)
      unsafe core.table.forEachBucket { bucket in unsafe look("room for slots", Int(bucket.pointee.capacity), 64) }
      unsafe look("buckets", core.table.index.count, 2)
      if let rareState = core.rareStateReference.load() {
        let limit = 2 * OverloadControl.limit
        look("occurrences counted", rareState.mailbox.occurrenceCount, 0)
        look("overload", rareState.overload.isOn.load(ordering: .relaxed) ? 1 : 0, 0)
        look("room for queued items", rareState.mailbox.items.capacity, limit)
        look("room for items", rareState.batch.capacity, limit)
        look("room for adds", rareState.mailbox.newHandlers.elements.capacity, limit)
        look("room for removals", rareState.mailbox.unregistering.capacity, limit)
        look("room for the deadRecords", rareState.deadRecords.capacity, limit)
        look("ended lanes", rareState.retiringTargets.count, 64)
        look("room for ended lanes", rareState.retiringTargets.capacity, limit)
      }
      return found.isEmpty ? nil : found.joined(separator: ", ")
    #else
      return nil
    #endif
  }
}
