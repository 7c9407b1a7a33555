/// A lane that handlers of several events share. Calls begin in the order in which the events
/// delivered, and overlap only if ``limit`` is above 1.
///
///     let database = Lane("database")
///     placed.addHandler(on: .lane(database)) { order in try await database.save(order) }
///     paid.addHandler(on: .lane(database)) { payment in try await database.save(payment) }
///
/// For each handler, all else is as on a lane of its own: locks, owners, bounds, reports, and that
/// no call begins after the handler's removal has returned. A lock that holds occurrences pauses
/// only the locked handler.
///
/// A ``Event/send(_:from:)`` in a call on the lane does not wait for handlers on the lane that
/// could not run before the call has returned: see ``SendReport/deferred``.
///
/// A lane lives as long as anything retains it, such as a handler on it.
public final class Lane: Sendable {
  /// The name in snapshots and logs; `nil` if the lane has none.
  public let name: String?
  /// The largest number of calls that overlap.
  public var limit: Int { scheduler.limit }

  let scheduler: UnitScheduler
  private let members = LaneMembers()

  /// Creates a lane.
  ///
  /// - Parameters:
  ///   - name: The name in snapshots and logs.
  ///   - limit: The largest number of calls that overlap, which begin in order. With a limit above
  ///     1, calls of one handler may overlap. A limit below 1 counts as 1.
  public init(_ name: String? = nil, limit: Int = 1) {
    self.name = name
    scheduler = UnitScheduler(
      .tasks(nil), limit: max(1, limit), freesSlotInDelay: false, onlySlot: limit <= 1 ? ExecutionSlot() : nil)
  }

  /// Creates a lane without a name for one call at a time, in tasks of a priority.
  init(priority: UInt8?) {
    name = nil
    scheduler = UnitScheduler(.tasks(priority), limit: 1, freesSlotInDelay: false, onlySlot: ExecutionSlot())
  }

  /// Waits until no call for an occurrence sent before is running or queued on the lane.
  ///
  /// Batches and paces on the lane do not wait any longer, but deliver what they have. Occurrences
  /// that a lock holds do not count. Inside a call on the lane, `quiesce()` waits neither for that
  /// call nor for work that waits for the call. Cancellation of the task does not shorten the wait.
  ///
  /// - Complexity: O(handlers and waiting calls).
  public nonisolated(nonsending) func quiesce() async {
    let completion = Completion(.ticket)
    for lane in members.all {
      completion.expect(lane)
      let record = lane.record
      guard let core = lane.anchor.core else {
        lane.sendBarrier(completion)
        completion.arrive(lane, nil)
        continue
      }
      // Enqueued behind the occurrences that were posted before this call.
      core.enqueue(
        .change(
          {
            // If the handler has a pace, the barrier goes to the pace. The pace delivers the
            // occurrence that waits, unless a lock holds it, and passes the barrier on to the lane.
            // If the handler has no pace, the barrier goes to the lane at once. It also goes to the
            // lane at once if the handler has no slot, because the handler has not joined the table
            // yet or has left it. Then no occurrence waits in its pace.
            unsafe (record.index >= 0 ? record.runner?.lane ?? lane : lane).sendBarrier(completion)
            core.unregisterDead()
            completion.arrive(lane, nil)
          }, by: Thread.current))
    }
    completion.finishDelivery(SendReport())
    _ = await completion.wait()
  }

  /// Whether a handler without modifiers and without a bound gets a ``SerialLane`` here, which
  /// costs less than units.
  var takesSerialLanes: Bool { limit == 1 && !mutant(.sharedLaneOverlaps) }

  /// The number of occurrences that wait on the lane, without those whose calls run. Callable from
  /// any thread that holds no mutex.
  var waitingCount: Int { members.all.reduce(0) { $0 + $1.waitingCount } }

  func insert(_ lane: HandlerLane) { members.insert(lane) }
  func remove(_ lane: HandlerLane) { members.remove(lane) }
}

extension Lane: CustomStringConvertible {
  /// One line for a log.
  public var description: String {
    "lane\(name.map { " \"\($0)\"" } ?? "")\(limit > 1 ? " (limit: \(limit))" : "")"
  }
}

/// The lanes of the handlers on a shared lane. Each is removed when it is over.
///
/// They are held strongly: an object with weak references has slower reference counts, and each
/// call retains the lane of its handler.
// Safe: each field says what guards it.
private final class LaneMembers: @unchecked Sendable {
  private let mutex = UnfairMutex()
  /// The handlers' lanes, each with its number in the order in which they were inserted. Guarded
  /// by: mutex.
  @exclusivity(unchecked) private var members: [ObjectIdentifier: (number: Int, lane: HandlerLane)] = [:]
  /// Guarded by: mutex.
  @exclusivity(unchecked) private var lastNumber = 0

  /// The handlers' lanes, in the order in which they were inserted.
  var all: [HandlerLane] {
    mutex.withLock { unsafe Array(members.values) }.sorted { $0.number < $1.number }.map(\.lane)
  }

  func insert(_ lane: HandlerLane) {
    mutex.withLock {
      unsafe lastNumber += 1
      unsafe members[ObjectIdentifier(lane)] = unsafe (lastNumber, lane)
    }
  }

  func remove(_ lane: HandlerLane) {
    let removed = mutex.withLock { unsafe members.removeValue(forKey: ObjectIdentifier(lane)) }
    withExtendedLifetime(removed) {}  // released after the unlock
  }
}

extension AsyncDelivery {
  /// Returns a delivery on a lane that several handlers share.
  ///
  /// - Parameters:
  ///   - lane: The lane.
  ///   - buffering: How many occurrences of this handler may wait, and which are dropped beyond
  ///     that.
  public static func lane(_ lane: Lane, buffering: Buffering = .unbounded) -> AsyncDelivery {
    AsyncDelivery(.lane(lane, buffering))
  }

  /// One call at a time, which a new occurrence cancels: see ``Handler/restarting()``.
  public static var restarting: AsyncDelivery { AsyncDelivery(.restarting) }
}
