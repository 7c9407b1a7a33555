import Synchronization

/// What a task knows of the handler call that it belongs to.
@usableFromInline enum Context {
  /// The call that is running: bound around every asynchronous call, and so known to its child tasks and to each `Task {}` it starts.
  @usableFromInline static let running = TaskLocal<Running?>(wrappedValue: nil)
}

/// One call of a handler: the seat that it runs on, and its number there.
@usableFromInline struct Running: Sendable {
  @usableFromInline let seat: Seat
  @usableFromInline let number: UInt

  @inlinable init(_ seat: Seat, _ number: UInt) {
    self.seat = seat
    self.number = number
  }

  /// False for a task that outlived the call that started it: nobody waits for that call any more.
  var isCurrent: Bool { seat.number.load(ordering: .acquiring) == number }
}
