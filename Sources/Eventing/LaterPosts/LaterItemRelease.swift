/// Releases the objects that a ``LaterItem`` retains after it has fired: payloads, events, and what
/// these retain. The `deinit` of such an object is the user's code, and may block a thread. So the
/// thread of the timer releases none of these objects. A block on the global queue of Dispatch
/// does.
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
