/// Releases the objects that timers no longer need: payloads, events, and what these retain. The
/// `deinit` of such an object is the user's code, and may block. So a block on the global queue of
/// Dispatch releases the object, and not the thread of the timer.
enum Leftovers {
  private static let items = Guarded<LaterItem?>(nil)

  /// Lets a block on the global queue of Dispatch release the objects that an item retains. Called
  /// after the item has fired.
  static func release(_ item: LaterItem) {
    // In a simulation everything runs on one thread, and the timer belongs to the simulation alone.
    if Scheduling.isSimulated { return item.letGo() }
    let isFirst = items.withLock { first -> Bool in
      unsafe item.next = first
      first = item
      return unsafe item.next == nil
    }
    if isFirst { Scheduling.concurrentBlock { releaseAll() } }
  }

  private static func releaseAll() {
    var first: LaterItem?
    items.withLock { swap(&$0, &first) }
    while let item = first {
      first = unsafe item.next
      unsafe item.next = nil
      item.letGo()
    }
  }
}
