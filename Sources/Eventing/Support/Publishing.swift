public import Synchronization

// In inlined code, a retain does not stay before an atomic store that follows it. The compiler's
// ARC optimiser (swiftlang/swift, LLVMARCOpts.cpp, `performLocalRetainMotion`) moves a retain down
// past loads and stores, and treats an atomic store like a plain one. So "load a reference, retain,
// unlock the mutex" may become "load, unlock, retain". Then another thread may free the object
// before the retain. A fence is neither a load nor a store, so the optimiser moves no retain past a
// fence. On x86-64 a releasing fence is no instruction. `Tests/Upstream` has a program that shows
// the fault, and a check of the assembly.

extension Atomic where Value.AtomicRepresentation == UInt8.AtomicRepresentation {
  /// Stores with release order, after all earlier steps, retains included.
  @inlinable @inline(__always) package borrowing func publish(_ value: consuming Value) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)  // the thread sanitizer does not see the fence, so the store releases, too
  }
}

extension Atomic where Value.AtomicRepresentation == UInt.AtomicRepresentation {
  @inlinable @inline(__always) package borrowing func publish(_ value: consuming Value) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)
  }
}
