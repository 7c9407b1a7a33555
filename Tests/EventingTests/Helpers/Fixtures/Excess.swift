import Synchronization

#if DEBUG
  @testable import Eventing
#else
  import Eventing
#endif

extension Event {
  /// What an idle event has too much of, if it has that many handlers. The next post is as quick as ever if there are no more slots than handlers.
  nonisolated func excess(over handlers: Int = 0) async -> String? {
    #if DEBUG
      var own: UInt = 0  // inside, where it may look: a lane that ends comes in, too
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
      if let pendingWork = core.pendingWorkReference.load() {
        let limit = 2 * OverloadControl.limit
        look("occurrences counted", pendingWork.occurrences, 0)
        look("overload", pendingWork.overload.isOn.load(ordering: .relaxed) ? 1 : 0, 0)
        look("room for queued items", pendingWork.queue.capacity, limit)
        look("room for items", pendingWork.pending.capacity, limit)
        look("room for adds", pendingWork.pendingHandlers.capacity, limit)
        look("room for removals", pendingWork.unregistering.capacity, limit)
        look("room for the deadRecords", pendingWork.deadRecords.capacity, limit)
        look("ended lanes", pendingWork.retiringLanes.count, 64)
        look("room for ended lanes", pendingWork.retiringLanes.capacity, limit)
      }
      return found.isEmpty ? nil : found.joined(separator: ", ")
    #else
      return nil
    #endif
  }
}
