/// Stands for the sender's own work between two calls on an actor. Adapters call this function
/// after each call.
///
/// In a bare loop of `await bus.send(value)` the compiler removes the hop back to the sender's
/// executor. Such a loop takes about 10 ns per send. A single send with its two hops takes about 55
/// ns (two cores of an x86_64 virtual machine, Linux).
@inline(never) @_optimize(none) package func between() {}

/// Prevents the compiler from optimising a value away.
@inline(never) @_optimize(none) package func blackHole<T>(_ value: T) {}
