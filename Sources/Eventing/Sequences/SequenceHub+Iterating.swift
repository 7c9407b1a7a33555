// For iterators.
extension SequenceHub {
  func makeBuffer() -> IteratorBuffer {
    let buffer = IteratorBuffer(buffering, type)
    let origin = mutex.withLock { () -> IteratorBuffer? in
      let origin = unsafe self.origin
      if let origin {
        buffer.copyContents(of: origin)
        // Only one buffer keeps a waiting send: the copy for the first iterator, otherwise the
        // origin.
        if unsafe buffers.isEmpty {
          _ = unsafe origin.bounded.takeSenders()
        } else {
          _ = unsafe buffer.bounded.takeSenders()
        }
      }
      unsafe buffer.index = buffers.count
      unsafe buffers.append(buffer)
      noteOnly()
      return origin
    }
    if buffering.suspendsSender {
      origin?.hand(over: buffer)
      buffer.noteConsumer()
    }
    return buffer
  }

  func release() { drop(nil) }

  /// If the last iterator leaves early, for instance by `break`, the next one continues there. The
  /// sequence ends instead if the bound makes senders wait, because they might wait forever, or if
  /// a transport brought the payloads, because it couldn't give them to another listener.
  func leave(_ buffer: IteratorBuffer, _ batch: inout PayloadQueue<PayloadAlone>, isMarked: Bool) {
    drop(buffer) { hub in
      guard unsafe hub.isHeld, unsafe hub.buffers.count == 1, !hub.buffering.suspendsSender, !isMarked,
        unsafe !buffer.marks.isOn
      else { return false }
      if !hub.isBounded { buffer.putBack(&batch) }
      return true
    }
  }

  /// `becomesOrigin` is called under `mutex`.
  func drop(_ buffer: IteratorBuffer?, becomesOrigin: (SequenceHub) -> Bool = { _ in false }) {
    var senders: [WaitingSender] = []
    var (contents, gone): ([BufferContents], IteratorBuffer?) = ([], nil)
    mutex.lock()
    // Another task may be waiting with this iterator, and nothing else would find its continuation.
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

  enum Taken { case something, nothing, end }

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
      // A `send` may be waiting in the origin if the first iterator was created just before the
      // `send` put its payload into the buffers. No later take could end that wait.
      unsafe senders += begun.bounded.takeSenders()
      unsafe origin = nil
      noteOnly()
    }
    mutex.unlock()
    pass(senders)
    unsafe begun?.marks.withdraw()  // the iterators have the payloads; the origin's content is released here
    return taken
  }

  func begin(_ buffer: IteratorBuffer) -> Bool {
    mutex.withLock {
      guard unsafe buffer.waiter == nil else { return false }
      unsafe buffer.isCancelled = false
      return true
    }
  }

  func park(_ buffer: IteratorBuffer, _ waiter: UnsafeContinuation<Void, Never>) -> Bool {
    mutex.withLock {
      guard unsafe buffer.waiter == nil, unsafe !isEnded, unsafe !buffer.isCancelled else { return false }
      guard unsafe buffer.items.isEmpty, unsafe buffer.bounded.isEmpty else { return false }
      unsafe buffer.waiter = unsafe waiter
      return true
    }
  }

  /// Called when the task is cancelled, so this thread already holds the lock of the task.
  func cancel(_ buffer: IteratorBuffer) {
    mutex.lock()
    unsafe buffer.isCancelled = true
    let waiter = unsafe buffer.takeWaiter()
    mutex.unlock()
    unsafe waiter?.resume()
  }
}
