/// How payloads become batches.
final class BatchRule: Sendable {
  /// The largest number of payloads in a batch.
  let count: Int
  /// The time for which a batch waits for further payloads after its first one; `nil` if the batch
  /// does not wait.
  let within: Duration?
  let clock: any Clock<Duration>
  /// The type of a batch.
  let type: PayloadType
  /// Moves the payloads of a queue into an array, and returns the array as one payload.
  let make: @Sendable (inout PayloadQueue<Item>) -> OwnedPayload
  /// Moves the payloads that a loop has received into an array, and appends it to a queue.
  let append: @Sendable (inout PayloadQueue<PayloadAlone>, inout PayloadQueue<PayloadAlone>) -> Void
  /// Lends each payload of an array to a closure.
  let forEach: @Sendable (BorrowedPayload, (BorrowedPayload) -> Void) -> Void

  init<Payload: Sendable>(of _: Payload.Type, _ count: Int, _ limit: Duration?, _ clock: any Clock<Duration>) {
    self.count = max(1, count)
    within = limit.map { max(.zero, $0) }
    self.clock = clock
    type = [Payload].self
    make = { queue in OwnedPayload(queue.takeAllPayloads(Payload.self)) }
    append = { payloads, batches in
      lend(payloads.takeAllPayloads(Payload.self)) { batches.append(PayloadAlone(), $0) }
    }
    forEach = { batch, body in
      for payload in batch.payload([Payload].self) { lend(payload) { body($0) } }
    }
  }
}
