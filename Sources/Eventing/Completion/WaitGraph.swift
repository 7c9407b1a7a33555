import Synchronization

/// A call waits for completions, and a completion waits for the lanes and slots where it has
/// outstanding work. A lane is blocked if every slot that it may use is blocked. A slot is blocked
/// if its call is the goal of the search or waits for a blocked node. If a call is about to wait
/// for a lane that it blocks, a ``CycleSearch`` first defers the work there, so no cycle is ever
/// closed (G16).
@usableFromInline package enum WaitGraph {
  /// Guards the nodes' waits, the graph's completions and ``ConsumerTasks``.
  package static let mutex = UnfairMutex()

  #if DEBUG
    static let steps = Atomic<Int>(0)
  #endif

  @inline(__always) static func count() {
    #if DEBUG
      steps.wrappingAdd(1, ordering: .relaxed)
    #endif
  }

  /// Uses an explicit stack, because a chain of waits may be too long for recursion. The caller
  /// holds `mutex`.
  struct CycleSearch {
    let goal: Invocation
    private let sleeping: Set<ObjectIdentifier>
    /// The nodes being visited. A cycle leads back to one of them, which is then assumed to be
    /// blocked. If its own visit finds it free, the search forgets the nodes that it found blocked
    /// during that visit.
    private var searching: Set<ObjectIdentifier> = []
    private var free: Set<ObjectIdentifier> = []
    private var blocked: Set<ObjectIdentifier> = []
    private var trail: [ObjectIdentifier] = []
    private var stack: [Frame] = []

    private struct Frame {
      let id: ObjectIdentifier
      let nodes: [WaitNode]
      /// True if one blocked node blocks the visited one; false if one free node frees it.
      let decisive: Bool
      let mark: Int
      var next = 0
    }

    init(_ goal: Invocation, sleeping: Set<ObjectIdentifier> = []) {
      self.goal = goal
      self.sleeping = sleeping
    }

    mutating func isBlocked(_ node: WaitNode) -> Bool {
      var answer = look(at: node)
      while let last = stack.indices.last {
        if answer == stack[last].decisive || stack[last].next == stack[last].nodes.count {
          let result = answer == stack[last].decisive ? stack[last].decisive : !stack[last].decisive
          close(stack.removeLast(), result)
          answer = result
        } else {
          stack[last].next += 1
          answer = look(at: stack[last].nodes[stack[last].next - 1])
        }
      }
      return answer ?? false
    }

    private mutating func look(at node: WaitNode) -> Bool? {
      WaitGraph.count()
      let id = ObjectIdentifier(node)
      if searching.contains(id) || blocked.contains(id) || sleeping.contains(id) { return true }
      if free.contains(id) { return false }
      let (nodes, decisive): ([WaitNode], Bool)
      switch node.needs(goal) {
      case .any(let some): (nodes, decisive) = (some, true)
      case .all(let all): (nodes, decisive) = (all, false)
      }
      searching.insert(id)
      stack.append(Frame(id: id, nodes: nodes, decisive: decisive, mark: trail.count))
      return nil
    }

    private mutating func close(_ frame: Frame, _ isBlocked: Bool) {
      searching.remove(frame.id)
      if isBlocked {
        blocked.insert(frame.id)
        trail.append(frame.id)
      } else {
        free.insert(frame.id)
        // Other nodes may have been found blocked only because this one was assumed to be blocked.
        for doubtful in trail[frame.mark...] { blocked.remove(doubtful) }
        trail.removeSubrange(frame.mark...)
      }
    }
  }
}

package enum WaitNeeds {
  /// An empty list means free.
  case any([WaitNode])
  /// An empty list means blocked.
  case all([WaitNode])

  static var blocked: WaitNeeds { .all([]) }
  static var free: WaitNeeds { .any([]) }
}

// Safe: an abstract class without state of its own.
@usableFromInline package class WaitNode: @unchecked Sendable {
  init() {}
  /// The execution slot of `goal` counts as blocked. The caller holds `WaitGraph.mutex`.
  package func needs(_ goal: Invocation) -> WaitNeeds {
    preconditionFailure("a wait node is a lane, an execution slot or an iterator buffer")
  }

  package var handlerID: UInt64? { nil }
  package var eventAnchor: EventAnchor? { nil }

  #if DEBUG
    var title: String { "what runs there" }
  #endif
}

// Safe: each field says what guards it. The callers of `add`, `remove` and `waitCount` hold
// `WaitGraph.mutex`.
@usableFromInline package class ExecutionSlot: WaitNode, @unchecked Sendable {
  let handler: UInt64

  // Guarded by: WaitGraph.mutex.
  private var waits: [SlotWait] = []

  final func add(_ wait: SlotWait) {
    WaitGraph.count()
    unsafe wait.index = waits.count
    waits.append(wait)
  }

  /// O(1), because a call may have thousands of waits, and a linear search would delay all other
  /// sends in the process.
  final func remove(_ wait: SlotWait) {
    WaitGraph.count()
    let last = waits.removeLast()
    guard last !== wait else { return }
    unsafe waits[wait.index] = last
    unsafe last.index = wait.index
  }

  final var waitCount: Int { waits.count }

  #if DEBUG
    // Safe: set before any other thread has the execution slot.
    weak var target: DeliveryTarget?
    override var title: String { target?.title ?? super.title }
  #endif

  package init(of handler: UInt64 = 0) { self.handler = handler }

  package override var handlerID: UInt64? { handler == 0 ? nil : handler }

  package override func needs(_ goal: Invocation) -> WaitNeeds {
    if self === goal.executionSlot { return .blocked }
    return .any(
      waits.flatMap { wait -> [WaitNode] in
        WaitGraph.count()
        return wait.invocation.isCurrent ? wait.completion.nodes(for: wait.waiter) : []
      })
  }
}

// Guarded by: WaitGraph.mutex.
final class SlotWait {
  let invocation: Invocation
  let completion: Completion
  let waiter: Int
  // Guarded by: WaitGraph.mutex.
  @exclusivity(unchecked) fileprivate var index = 0

  init(_ invocation: Invocation, _ completion: Completion, _ waiter: Int) {
    (self.invocation, self.completion, self.waiter) = (invocation, completion, waiter)
  }
}

extension Completion.Waiter {
  var invocation: Invocation? { wait?.invocation }
}

/// A barrier that suspends no task.
package final class EventProbe: Sendable {
  private let completion = Completion(.probe)
  /// The probe ignores work that waits for this invocation. Nothing waits for a newly created one.
  private let goal = Invocation.current ?? Invocation(ExecutionSlot())
  private let lastSequence = Atomic<UInt64>(0)

  init(_ core: EventCore) {
    // The change runs after everything enqueued so far and before the barrier. `lastSequence`
    // doesn't include occurrences that other threads enqueue between the two.
    core.enqueue(.change({ [self] in lastSequence.publish(core.sequence) }, by: Thread.current))
    core.enqueue(.barrier(completion))
  }

  /// Valid after ``isOver(except:)`` has returned true.
  package var sequence: UInt64 { lastSequence.load(ordering: .acquiring) }

  package func isOver(except sleeping: [SleepingWork]) -> Bool {
    let nodes = Set(sleeping.lazy.filter(\.isCurrent).map(\.id))
    return completion.withMutex {
      guard completion.isDelivered else { return false }
      var search = WaitGraph.CycleSearch(goal, sleeping: nodes)
      return completion.outstanding.values.allSatisfy { search.isBlocked($0.node) }
    }
  }

  package var remaining: String {
    #if DEBUG
      let nodes = completion.withMutex { completion.outstanding.values.map(\.node) }
      return nodes.isEmpty ? "an event" : Set(nodes.map(\.title)).sortedUnspecialized(by: <).joined(separator: ", ")
    #else
      return "a handler"
    #endif
  }
}

@usableFromInline package enum Context {
  /// Bound around asynchronous calls, so that tasks started by a call inherit it.
  package static let invocation = TaskLocal<Invocation?>(wrappedValue: nil)
}

/// Binding a task-local value takes about 70 ns on x86-64 Linux, so one binding serves many calls.
/// If a call leaves a task behind, however, a wait by that task would be mistaken for a wait by the
/// next call, so the next call gets an `Invocation` of its own; see ``RuntimeSPI/references(to:)``.
@usableFromInline package final class Invocation: Sendable {
  package let executionSlot: ExecutionSlot
  /// Once set, a task that still has the invocation has outlived its call.
  let isOver = Atomic<Bool>(false)

  package init(_ executionSlot: ExecutionSlot) { self.executionSlot = executionSlot }

  func end() { isOver.publish(true) }

  /// Must be called before the lane reports the outcome, or a `send` by a task left behind could
  /// still defer the handler although the sender already knows that the call is over.
  @inline(__always) static func endIfShared(
    _ invocation: Unmanaged<Invocation>, since references: UInt
  ) -> Bool {
    guard unsafe RuntimeSPI.references(to: invocation) != references else { return false }
    unsafe invocation._withUnsafeGuaranteedRef { $0.end() }
    return true
  }

  package static var current: Invocation? {
    Context.invocation.get().flatMap { $0.isCurrent ? $0 : nil } ?? ConsumerTasks.invocation
  }

  var isCurrent: Bool { !isOver.load(ordering: .acquiring) }
}
