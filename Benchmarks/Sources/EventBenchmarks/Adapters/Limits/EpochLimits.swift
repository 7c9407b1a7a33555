import BenchmarkKit
import CMeasure
import Synchronization

/// Returns a peer of the kind `limit`. Its time is a lower bound for sends by several threads at a
/// time, because no sender writes memory that another sender uses.
func epochLimits() -> [Peer] {
  let epoch = Peer(
    "epoch", "LIMIT striped epochs", .limit,
    mechanism: "a sender writes its own line only; a change copies, swaps, waits"
  ) {
    let bus = EpochBus()
    return Rig(
      add: { cells in bus.add(cells.map(hitting)) },
      send: .sync { batch in
        let stripe = sender(of: batch.first)
        for value in batch.values { bus.send(value, stripe: stripe) }
      },
      addRemove: .sync { batch in
        let cell = batch.cell
        for _ in 0..<batch.count {
          bus.add([hitting(cell)])
          bus.removeLast()
        }
      })
  }
  return [epoch.with { $0.idleEvents = { count in (0..<count).map { _ in EpochBus() } } }]
}

/// Sends to a published, immutable array of handlers.
///
/// Each sender has a stripe of its own: two counters, one for each value of the bit that the word
/// `epoch` holds. A send raises the counter for the present value of the bit, walks the array, and
/// lowers the counter. A change publishes a new array, and flips the bit twice, because a sender
/// may have read the bit and not yet raised its counter. After each flip, the change waits until
/// the counters for the old value are 0. Then no sender can still read the old array.
// Safe: the words are atomic, a published array never changes, and changes happen under `changes`.
final class EpochBus: @unchecked Sendable {
  private struct Handlers {
    var boxes: UnsafeMutablePointer<Unmanaged<HandlerBox>>
    var count: Int
  }
  private static let stripes = CellBlock.rows
  /// The number of words between two counters, so that they share no cache line.
  private static let line = 16

  /// The address of the current `Handlers`.
  private let current: UnsafeMutablePointer<Int>
  private let epoch: UnsafeMutablePointer<Int>
  /// For each sender, and for each value of `epoch`, the number of its sends that are walking the
  /// array of handlers. The two counters of a sender are its *stripe*.
  private let inside: UnsafeMutablePointer<Int>
  private let changes = Mutex(())

  init() {
    func words(_ count: Int) -> UnsafeMutablePointer<Int> {
      let words = UnsafeMutablePointer<Int>.allocate(capacity: count)
      words.initialize(repeating: 0, count: count)
      return words
    }
    current = words(Self.line)
    epoch = words(Self.line)
    inside = words(2 * Self.line * Self.stripes)
    cm_store(current, Int(bitPattern: Self.published(Handlers(boxes: .allocate(capacity: 1), count: 0))))
  }

  @inline(never) func send(_ value: Int, stripe: Int) {
    let mine = counter(stripe, parity: cm_load(epoch) & 1)
    _ = cm_add(mine, 1)
    let handlers = present.pointee
    var index = 0
    while index < handlers.count {
      handlers.boxes[index]._withUnsafeGuaranteedRef { $0.body(value) }
      index &+= 1
    }
    _ = cm_add(mine, -1)
  }

  @inline(never) func add(_ bodies: [Body]) {
    changes.withLock { _ in
      let old = present, kept = old.pointee.count, count = kept + bodies.count
      let boxes = UnsafeMutablePointer<Unmanaged<HandlerBox>>.allocate(capacity: max(count, 1))
      boxes.initialize(from: old.pointee.boxes, count: kept)
      for (index, body) in bodies.enumerated() {
        (boxes + kept + index).initialize(to: .passRetained(HandlerBox(body)))
      }
      replace(old, with: Handlers(boxes: boxes, count: count))
    }
  }

  @inline(never) func removeLast() {
    changes.withLock { _ in
      let old = present, count = old.pointee.count - 1
      let boxes = UnsafeMutablePointer<Unmanaged<HandlerBox>>.allocate(capacity: max(count, 1))
      boxes.initialize(from: old.pointee.boxes, count: count)
      let removed = old.pointee.boxes[count]
      replace(old, with: Handlers(boxes: boxes, count: count))
      removed.release()
    }
  }

  private var present: UnsafeMutablePointer<Handlers> { UnsafeMutablePointer(bitPattern: cm_load(current))! }
  private func counter(_ stripe: Int, parity: Int) -> UnsafeMutablePointer<Int> {
    inside + (2 * stripe + parity) &* Self.line
  }

  private static func published(_ handlers: Handlers) -> UnsafeMutablePointer<Handlers> {
    let pointer = UnsafeMutablePointer<Handlers>.allocate(capacity: 1)
    pointer.initialize(to: handlers)
    return pointer
  }

  private func replace(_ old: UnsafeMutablePointer<Handlers>, with new: Handlers) {
    cm_store(current, Int(bitPattern: Self.published(new)))
    // Flips the bit twice, and so waits for both counters of each sender. A sender may read the
    // bit, and raise the counter for this value only after a change has waited for that counter. If
    // the next change waited only for the other counter, it could free the array that this sender
    // reads.
    for _ in 0..<2 {
      let parity = cm_load(epoch) & 1
      cm_store(epoch, 1 - parity)
      for stripe in 0..<Self.stripes {
        var spins = 0
        while cm_add(counter(stripe, parity: parity), 0) != 0 {
          spins += 1
          if spins > 200 { cm_sleep(1) } else { cm_pause() }
        }
      }
    }
    old.pointee.boxes.deallocate()
    old.deallocate()
  }
}
