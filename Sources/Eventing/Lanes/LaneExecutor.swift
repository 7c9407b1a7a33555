import Dispatch

enum LaneExecutor: Sendable {
  case queue(DispatchQueue)
  case mainBlocks
  case mainTasks
  case tasks(UInt8?)
  /// If a `send` waits for the call, its task is a child task of the sender.
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
