final class BatchRule: Sendable {
  let count: Int
  let within: Duration?
  let clock: any Clock<Duration>
  let type: PayloadType
  let make: @Sendable (inout PayloadQueue<Item>) -> OwnedPayload
  let append: @Sendable (inout PayloadQueue<PayloadAlone>, inout PayloadQueue<PayloadAlone>) -> Void
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
