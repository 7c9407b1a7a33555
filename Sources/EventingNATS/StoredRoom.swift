#if NATS
  import Eventing
  import EventingTransport

  /// The room that one message for a stream takes in the publish budget. The publisher uses the
  /// room, and so does each copy of the message in the send queue.
  ///
  /// The room returns to the budget when the publisher and all copies have released it. A copy may
  /// wait in the send queue for longer than the publisher waits for a receipt.
  final class StoredRoom: Sendable {
    private let budget: PublishBudget
    private let cost: Int
    private let users = Guarded(1)

    init(_ budget: PublishBudget, _ cost: Int) { (self.budget, self.cost) = (budget, cost) }

    /// Counts a further copy of the message, which the caller then puts into the send queue. Until
    /// the caller calls ``release()`` for this copy, the message keeps its room in the publish
    /// budget.
    ///
    /// - Returns: A `OneShot` for the result of the copy. The caller sets it to `nil` when the copy
    ///   was sent or the time limit has passed, or to the reason why the copy never will be sent.
    func retain() -> OneShot<String?> {
      users.withLock { $0 += 1 }
      return OneShot()
    }

    /// Releases the message's room in the publish budget, for the publisher or for one copy of the
    /// message. A copy releases the room when the copy has left the send queue. The room returns to
    /// the budget when the publisher and all copies have released it.
    func release() {
      let isLast = users.withLock { users in
        users -= 1
        return users == 0
      }
      if isLast { budget.give(cost) }
    }
  }
#endif
