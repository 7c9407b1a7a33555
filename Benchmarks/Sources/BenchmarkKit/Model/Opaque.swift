/// Stands for the sender's own work between two calls on an actor; adapters call it after every await on one.
///
/// In a bare loop of `await bus.send(value)` the compiler drops the hop back to the sender's executor: the loop measures about 10 ns
/// where a lone send costs two switches, about 55 ns.
@inline(never) @_optimize(none) package func between() {}

/// Keeps a value from being optimised away.
@inline(never) @_optimize(none) package func blackHole<T>(_ value: T) {}
