// The part of a hub that its iterators use.
extension SequenceHub {
  /// Adds and returns the buffer of a new iterator.
  func makeBuffer() -> IteratorBuffer {
    let buffer = IteratorBuffer(buffering, type)
    let origin = mutex.withLock { () -> IteratorBuffer? in
      let origin = unsafe self.origin
      if let origin {
        buffer.copyContents(of: origin)
        // A send that waits for room is kept in one buffer only. The copy for the first iterator
        // keeps it, so the origin, the buffer that was copied, gives it up. The copies for later
        // iterators do not keep it.
        if unsafe buffers.isEmpty {
          _ = unsafe origin.bounded.takeSenders()
        } else {
          _ = unsafe buffer.bounded.takeSenders()
        }
      }
      insert(buffer)
      noteOnly()
      return origin
    }
    if buffering.suspendsSender {
      origin?.hand(over: buffer)
      buffer.noteConsumer()
    }
    return buffer
  }

  /// Removes the buffer of an iterator that has ended: its task was cancelled, or no more payloads
  /// come. The handler is removed with the last iterator.
  func drop(_ buffer: IteratorBuffer) { drop(buffer) { _ in false } }

  /// Removes the origin, because the sequence itself has gone, and no more iterators will be made.
  /// If there is no iterator, the handler is removed.
  func release() { drop(nil) { _ in false } }

  /// Removes the buffer of an iterator that was released before its end, such as that of a loop
  /// that has left by `break`.
  ///
  /// If it was the last one, and the sequence still exists, the next iterator goes on with the
  /// payloads that this one has not given to its loop. If the bound makes senders wait, or if a
  /// transport has brought the payloads, the sequence ends instead. Otherwise senders might wait
  /// for ever, and a transport could not give its messages to another listener.
  ///
  /// - Parameters:
  ///   - batch: The payloads that the iterator has taken out of the buffer.
  ///   - isMarked: Whether these payloads have marks.
  func leave(_ buffer: IteratorBuffer, _ batch: inout PayloadQueue<PayloadAlone>, isMarked: Bool) {
    drop(buffer) { hub in
      guard unsafe hub.isHeld, unsafe hub.buffers.count == 1, !hub.buffering.suspendsSender, !isMarked,
        unsafe !buffer.marks.isOn
      else { return false }
      if !hub.isBounded { buffer.putBack(&batch) }
      return true
    }
  }

  /// Removes the buffer of an iterator; or the origin, if `buffer` is `nil`.
  ///
  /// - Parameter becomesOrigin: A closure that returns whether the buffer, the last one, is the
  ///   origin from now on. Called under `mutex`.
  private func drop(_ buffer: IteratorBuffer?, becomesOrigin: (SequenceHub) -> Bool) {
    var senders: [WaitingSender] = []
    var (contents, gone): ([BufferContents], IteratorBuffer?) = ([], nil)
    mutex.lock()
    // Another task may wait with this iterator. After the removal, no other code would find the
    // continuation of that task.
    let waiter = unsafe buffer?.takeWaiter()
    var next: IteratorBuffer?
    if let buffer {
      if becomesOrigin(self) { next = buffer } else { empty(buffer, &senders, &contents) }
      remove(buffer)
    } else {
      unsafe isHeld = false
    }
    if unsafe buffer == nil || buffers.isEmpty {
      if let origin = unsafe origin {
        empty(origin, &senders, &contents)
        gone = origin
      }
      unsafe origin = next
    }
    noteOnly()
    let hasLoops = unsafe !buffers.isEmpty
    let last = unsafe buffers.isEmpty && origin == nil ? token : nil
    if last != nil {
      unsafe token = nil
      unsafe isEnded = true
    }
    mutex.unlock()
    if buffering.suspendsSender { buffer?.forgetConsumer() }
    pass(senders)
    if let waiter = unsafe waiter { unsafe Scheduling.resume(waiter) }
    if let last { _ = last.anchor.remove(last.record) }
    // The loops have their own shares of what the origin had.
    if buffer == nil, hasLoops { for content in contents { content.marks.withdraw() } }
    withExtendedLifetime(gone) {}
  }

  /// The result of ``take(_:_:_:)``.
  enum Taken { case something, nothing, end }

  /// Takes the next payloads out of a buffer: all of them or, with a bound, one.
  ///
  /// - Parameters:
  ///   - batch: Receives the payloads. It must be empty.
  ///   - marks: Receives the marks of the payloads. It must be empty.
  ///   - lag: Set to the number of payloads that were dropped before the one that is taken.
  func take(
    _ buffer: IteratorBuffer, _ batch: inout PayloadQueue<PayloadAlone>, _ marks: inout MarkQueue, _ lag: inout Int
  ) -> Taken {
    var senders: [WaitingSender] = []
    mutex.lock()
    if !isBounded {
      unsafe swap(&batch, &buffer.items)
      if unsafe buffer.marks.isOn { unsafe swap(&marks, &buffer.marks) }
    } else if let (item, released) = unsafe buffer.bounded.moveFirst(to: &batch) {
      lag = item.lag
      if unsafe buffer.marks.isOn { unsafe marks.append(buffer.marks.popFirst(), after: 0) }
      if let sender = item.sender { senders.append(sender) }
      if let released { senders.append(released) }
    } else {
      lag = unsafe buffer.bounded.takeLag()
    }
    let isSomething = !batch.isEmpty || lag > 0
    let taken = unsafe isSomething ? Taken.something : isEnded ? .end : .nothing
    let begun = unsafe isSomething ? origin : nil
    if let begun {
      // A `send` may wait for room in the origin, the buffer that new iterators copy. That is so if
      // the `send` found no iterator, and another thread made the first iterator before the `send`
      // put its payload into the buffers. The hub gives up the origin here, and no later take could
      // end the wait of that `send`. So the wait ends now.
      unsafe senders += begun.bounded.takeSenders()
      unsafe origin = nil
      noteOnly()
    }
    mutex.unlock()
    pass(senders)
    unsafe begun?.marks.withdraw()  // the iterators have the payloads; the origin's content is released here
    return taken
  }

  /// Prepares a buffer for its iterator's wait. Returns false if a task waits with it already.
  func begin(_ buffer: IteratorBuffer) -> Bool {
    mutex.withLock {
      guard unsafe buffer.waiter == nil else { return false }
      unsafe buffer.isCancelled = false
      return true
    }
  }

  /// Stores the continuation of an iterator that waits. Returns false if it must not wait: there is
  /// something to take, the sequence has ended, the iterator's task is cancelled, or another task
  /// waits.
  func park(_ buffer: IteratorBuffer, _ waiter: UnsafeContinuation<Void, Never>) -> Bool {
    mutex.withLock {
      guard unsafe buffer.waiter == nil, unsafe !isEnded, unsafe !buffer.isCancelled else { return false }
      guard unsafe buffer.items.isEmpty, unsafe buffer.bounded.isEmpty else { return false }
      unsafe buffer.waiter = unsafe waiter
      return true
    }
  }

  /// Resumes the waiting iterator, whose task was cancelled. Called by that task's cancellation, so
  /// the calling thread has the lock of the task already.
  func cancel(_ buffer: IteratorBuffer) {
    mutex.lock()
    unsafe buffer.isCancelled = true
    let waiter = unsafe buffer.takeWaiter()
    mutex.unlock()
    unsafe waiter?.resume()
  }
}
