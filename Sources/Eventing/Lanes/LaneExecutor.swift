import Dispatch

/// Where the workers of a lane run.
enum LaneExecutor: Sendable {
  /// In blocks on a serial queue. The handlers are synchronous.
  case queue(DispatchQueue)
  /// In blocks on the main queue. The handlers are synchronous.
  case mainBlocks
  /// In tasks on the main actor.
  case mainTasks
  /// In tasks. A handler that is isolated to its owner hops to it for each call.
  case tasks(UInt8?)
  /// In a task for each call, which is a child task of the `send` that waits for it.
  case taskForEachCall(UInt8?)

  var isMain: Bool {
    switch self {
    case .mainBlocks, .mainTasks: true
    case .queue(let queue): Scheduling.isMainQueue(queue)
    case .tasks, .taskForEachCall: false
    }
  }

  var isTaskForEachCall: Bool { if case .taskForEachCall = self { true } else { false } }
}

extension ExecutionPlace {
  /// Returns the lane of a handler: a shared one, or a new one.
  func makeLane(isSynchronous: Bool) -> HandlerLane {
    switch self {
    case .main: HandlerLane(isSynchronous ? .mainBlocks : .mainTasks)
    case .background(let priority, _): HandlerLane(.queue(Scheduling.backgroundQueue(priority)))
    case .queue(let queue, _): HandlerLane(.queue(queue))
    case .inOrder(let priority, _): HandlerLane(.tasks(priority))
    case .actor: HandlerLane(.tasks(nil))
    case .concurrent(let limit, _): HandlerLane(.tasks(nil), limit: limit, freesWorkerInDelay: true)
    case .task(let priority): HandlerLane(.taskForEachCall(priority), limit: .max, freesWorkerInDelay: true)
    case .lane(let lane, _): lane
    case .inline, .sequence: preconditionFailure("\(self) has no lane")
    }
  }
}
