#if NATS
  import Eventing
  import EventingTransport

  /// The room in the publish budget that one message for a stream takes. Its users are the
  /// publisher and the copies of the message in the send queue.
  ///
  /// The last user returns the room to the budget. A copy may wait in the send queue for longer
  /// than the publisher waits for a receipt.
  final class StoredRoom: Sendable {
    private let budget: PublishBudget
    private let cost: Int
    private let users = Guarded(1)

    init(_ budget: PublishBudget, _ cost: Int) { (self.budget, self.cost) = (budget, cost) }

    /// Adds another copy of the message to the users of the room. The *room* is what the message
    /// takes of the publish budget. The caller puts the copy into the send queue. Returns a value
    /// that the caller sets later: to `nil` when the copy was sent, or to the reason why it never
    /// will be.
    func retain() -> OneShot<String?> {
      users.withLock { $0 += 1 }
      return OneShot()
    }

    /// Removes a user of the room: the publisher, or a copy of the message that has left the send
    /// queue. The *room* is what the message takes of the publish budget. The removal of the last
    /// user returns the room to the budget.
    func release() {
      let isLast = users.withLock { users in
        users -= 1
        return users == 0
      }
      if isLast { budget.give(cost) }
    }
  }
#endif
