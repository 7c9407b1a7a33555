protocol DelayedWork: AnyObject, Sendable {
  /// False once the work is cancelled or begins. The queue reads this under its mutex: a load only.
  var isWaiting: Bool { get }
  /// -1 while in no queue. Guarded by: the mutex of the queue.
  var heapIndex: Int { get set }
  /// If not, the queue releases the work in a block.
  var releasesItself: Bool { get }
  /// Called on the timer's thread, under no mutex. All other work of the clock waits meanwhile, so
  /// this runs no user code.
  func fire()
}
