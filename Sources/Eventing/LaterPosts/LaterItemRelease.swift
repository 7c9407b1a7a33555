/// A `deinit` is user code, and may block the timer's thread.
enum Leftovers {
  private static let items = Guarded<LaterItem?>(nil)

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
