import BenchmarkKit

/// Returns two peers of the kind `limit`: bare loops over closures, without a mutex, and without
/// removals during a send.
///
/// The second loop does not retain its closures. P1 to P3 of the performance budget compare sends
/// with the second loop.
func loopLimits() -> [Peer] {
  let plain = Peer(
    "loop", "LIMIT loop over [(Int) -> Void]", .limit, mechanism: "array walk; a thunk and a retain for each call"
  ) {
    let bus = LoopBus()
    return Rig(
      add: { cells in for cell in cells { bus.handlers.append(hitting(cell)) } },
      send: .sync { batch in for value in batch.values { bus.send(value) } },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          bus.handlers.append(hitting(cell))
          bus.handlers.removeLast()
        }
      },
      once: .sync { batch in
        let cell = batch.cell
        for value in batch.values {
          bus.handlers.append(hitting(cell))
          bus.send(value)
          bus.handlers.removeLast()
        }
      })
  }
  let borrowing = Peer(
    "loop-borrowing", "LIMIT loop that borrows", .limit, mechanism: "walks boxes that it owns; no reference counting"
  ) {
    let bus = BorrowingLoopBus()
    return Rig(
      add: { cells in for cell in cells { bus.add(hitting(cell)) } },
      send: .sync { batch in for value in batch.values { bus.send(value) } },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          bus.add(hitting(cell))
          bus.removeLast()
        }
      },
      once: .sync { batch in
        let cell = batch.cell
        for value in batch.values {
          bus.add(hitting(cell))
          bus.send(value)
          bus.removeLast()
        }
      })
  }
  return [
    plain.with {
      $0.isThreadSafe = false
      $0.idleEvents = { count in (0..<count).map { _ in LoopBus() } }
    },
    borrowing.with {
      $0.isThreadSafe = false
      $0.idleEvents = { count in (0..<count).map { _ in BorrowingLoopBus() } }
    },
  ]
}

/// Loops over an array of closures.
// Safe: one thread at a time uses it.
final class LoopBus: @unchecked Sendable {
  var handlers: [Body] = []
  @inline(never) func send(_ value: Int) { for handler in handlers { handler(value) } }
}

/// Boxes a closure, so that a send can call it through an unretained reference.
final class HandlerBox: Sendable {
  let body: Body
  init(_ body: @escaping Body) { self.body = body }
}

/// Loops over closures without reference counting.
///
/// The array is raw memory. A loop over an array in a property would retain the array once per
/// send, which takes about 11 ns (two cores of an x86_64 virtual machine, Linux).
// Safe: one thread at a time uses it.
final class BorrowingLoopBus: @unchecked Sendable {
  private var boxes = UnsafeMutablePointer<Unmanaged<HandlerBox>>.allocate(capacity: 4)
  private var count = 0
  private var capacity = 4

  func add(_ body: @escaping Body) {
    if count == capacity {
      let larger = UnsafeMutablePointer<Unmanaged<HandlerBox>>.allocate(capacity: capacity * 2)
      larger.update(from: boxes, count: count)
      boxes.deallocate()
      boxes = larger
      capacity *= 2
    }
    (boxes + count).initialize(to: .passRetained(HandlerBox(body)))
    count += 1
  }

  func removeLast() {
    count -= 1
    boxes[count].release()
  }

  @inline(never) func send(_ value: Int) {
    let boxes = boxes, count = count
    var index = 0
    while index < count {
      boxes[index]._withUnsafeGuaranteedRef { $0.body(value) }
      index &+= 1
    }
  }

  deinit {
    for index in 0..<count { boxes[index].release() }
    boxes.deallocate()
  }
}
