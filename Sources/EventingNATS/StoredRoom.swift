#if NATS
  import Eventing
  import EventingTransport

  /// Returned to the publish budget when the publisher and all copies have released it. A copy may
  /// wait in the send queue for longer than the publisher waits for a receipt.
  final class StoredRoom: Sendable {
    private let budget: PublishBudget
    private let cost: Int
    private let users = Guarded(1)

    init(_ budget: PublishBudget, _ cost: Int) { (self.budget, self.cost) = (budget, cost) }

    /// For one more copy, which releases the room when it has left the send queue. The caller sets
    /// the result: `nil` when the copy was sent or the time limit has passed, or the reason why it
    /// never will be.
    func retain() -> OneShot<String?> {
      users.withLock { $0 += 1 }
      return OneShot()
    }

    /// Called by the publisher, and once for each copy.
    func release() {
      let isLast = users.withLock { users in
        users -= 1
        return users == 0
      }
      if isLast { budget.give(cost) }
    }
  }
#endif
