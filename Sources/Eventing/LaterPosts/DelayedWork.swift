/// Work that waits for an instant of a clock.
protocol DelayedWork: AnyObject, Sendable {
  /// Whether the work waits: false from the moment when it is cancelled, or begins to be done.
  ///
  /// The queue reads this under its mutex, so it must be a load and nothing else.
  var isWaiting: Bool { get }
  /// The index of the work in the heap of its queue; -1 while the work is in no queue. Only the
  /// queue reads and changes the index, under its mutex.
  var heapIndex: Int { get set }
  /// Whether ``fire()`` lets a block release the user's objects and closures that the work retains.
  /// If true, the timer's thread may release the work after ``fire()``. If false, releasing the
  /// work may run the user's code. Then the queue starts a block that releases the work.
  var releasesItself: Bool { get }
  /// Does the work, unless it was cancelled.
  ///
  /// Called on the thread of the clock's timer, under no mutex. The timer fires one object after
  /// the other, in the order of the deadlines. All other work of the clock waits meanwhile, so this
  /// method runs no code of the user.
  func fire()
}
