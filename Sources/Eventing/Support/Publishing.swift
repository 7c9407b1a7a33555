public import Synchronization

// In inlined code, the compiler may move a retain below a later atomic store. Its ARC optimizer
// (swiftlang/swift, LLVMARCOpts.cpp, `performLocalRetainMotion`) sinks retains past loads and
// stores and treats an atomic store like a plain one. "Load a reference, retain it, unlock the
// mutex" may therefore become "load, unlock, retain", and another thread may free the object before
// the retain. A fence is neither a load nor a store, so no retain moves past it. On x86-64, a
// releasing fence compiles to no instruction. `Tests/Upstream` has a program that shows the bug and
// a check of the assembly.

extension Atomic where Value.AtomicRepresentation == UInt8.AtomicRepresentation {
  /// Stores with release ordering, after all earlier steps, including retains.
  @inlinable @inline(__always) package borrowing func publish(_ value: consuming Value) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)  // the thread sanitizer doesn't see the fence, so the store also releases
  }
}

extension Atomic where Value.AtomicRepresentation == UInt.AtomicRepresentation {
  @inlinable @inline(__always) package borrowing func publish(_ value: consuming Value) {
    atomicMemoryFence(ordering: .releasing)
    store(value, ordering: .releasing)
  }
}
