extension PriorityTable {
  borrowing func bucket(of priority: Int) -> BucketPointer? {
    unsafe index.isEmpty ? first : index[position(of: priority)]
  }

  borrowing func position(of priority: Int) -> Int {
    var low = 0
    var high = unsafe index.count
    while low < high {
      let middle = (low + high) / 2
      if unsafe index[middle].pointee.priority > priority { low = middle + 1 } else { high = middle }
    }
    return low
  }

  @inline(never) mutating func makeBucket(_ priority: Int) -> BucketPointer {
    if unsafe index.isEmpty, let only = unsafe first { unsafe index.append(only) }
    let at = position(of: priority)
    if unsafe at < index.count, unsafe index[at].pointee.priority == priority { return unsafe index[at] }
    let bucket = BucketPointer.allocate(capacity: 1)
    unsafe bucket.initialize(to: PriorityBucket(priority, before: at < index.count ? index[at] : nil))
    unsafe index.insert(bucket, at: at)
    if at > 0 { unsafe index[at - 1].pointee.next = unsafe bucket }
    rebuildIndex()
    return unsafe bucket
  }

  /// The empty bucket of priority 0 stays, so that adding and removing the only handler doesn't
  /// allocate.
  @inline(never) mutating func dropBucket(_ priority: Int) {
    if unsafe index.isEmpty, let only = unsafe first { unsafe index.append(only) }
    let at = position(of: priority)
    let bucket = unsafe index.remove(at: at)
    if at > 0 { unsafe index[at - 1].pointee.next = unsafe bucket.pointee.next }
    unsafe bucket.deinitialize(count: 1)
    unsafe bucket.deallocate()
    rebuildIndex()
  }

  mutating func rebuildIndex() {
    unsafe first = unsafe index.first
    if unsafe index.count < 2 { unsafe index = unsafe [] }
  }
}
