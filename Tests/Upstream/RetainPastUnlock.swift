// A use after free at -O: the compiler moves a retain past the unlock. README.md explains the
// fault.
//
//   swiftc -O -parse-as-library RetainPastUnlock.swift && ./RetainPastUnlock           # crashes
//   swiftc -O -parse-as-library -D FENCE RetainPastUnlock.swift && ./RetainPastUnlock  # survives

import Synchronization

final class Thing {
  let number: Int
  init(_ number: Int) { self.number = number }
}

/// A reference behind a spin lock.
final class Box: @unchecked Sendable {
  private let word = Atomic<UInt8>(0)
  @exclusivity(unchecked) private var thing = Thing(1)

  private func lock() {
    while !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged {}
  }

  private func unlock() {
    #if FENCE
      atomicMemoryFence(ordering: .releasing)
    #endif
    word.store(0, ordering: .releasing)
  }

  // The source order is lock, load, retain, unlock. At -O the order is lock, load, unlock, retain.
  @inline(never) func read() -> Thing {
    lock()
    defer { unlock() }
    return thing
  }

  @inline(never) func replace(by new: Thing) {
    var new = new
    lock()
    swap(&thing, &new)
    unlock()
  }
}

@main struct Program {
  static func main() async {
    let box = Box()
    let end = ContinuousClock.now + .seconds(20)
    await withTaskGroup(of: Void.self) { group in
      group.addTask { while ContinuousClock.now < end { for i in 1...1_000 { box.replace(by: Thing(i)) } } }
      group.addTask { while ContinuousClock.now < end { for _ in 1...1_000 { precondition(box.read().number > 0) } } }
    }
    print("survived")
  }
}
