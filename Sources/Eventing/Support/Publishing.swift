public import Synchronization

// An inlined atomic store does not keep a retain before it. The compiler's ARC optimiser
// (swiftlang/swift, LLVMARCOpts.cpp, `performLocalRetainMotion`) moves a retain down past loads and
// stores, and takes an atomic store for a plain one. So "load a reference, store 0 to the mutex"
// may become "load, unlock, retain", and another thread frees the object before the retain. A fence
// is neither a load nor a store: the optimiser stops there. On x86-64 a releasing fence is no
// instruction. `Tests/Upstream` has a program that shows the fault, and a check of the assembly.

extension Atomic where Value.AtomicRepresentation == UInt8.AtomicRepresentation {
  /// Stores a value with release order, after all earlier steps of the program, retains included.
  @inlinable @inline(__always) package borrowing func publish(_ value: consuming Value) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)  // the thread sanitizer does not see the fence, so the store releases, too
  }
}

extension Atomic where Value.AtomicRepresentation == UInt.AtomicRepresentation {
  /// Stores a value with release order, after all earlier steps of the program, retains included.
  @inlinable @inline(__always) package borrowing func publish(_ value: consuming Value) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)
  }
}
