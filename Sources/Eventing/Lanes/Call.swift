import Synchronization

/// A worker reuses one object for all its calls. Only a call that outlives its worker's drain
/// leaves the worker: one that is between two attempts or that a lock holds.
// Safe: the worker that has the call owns all fields that don't say otherwise. While no worker has
// the call, `lane.mutex` guards them. Callers of `beginBatch`, `dropFirstOfBatch`, `detach` and
// `passBarriers` hold the mutex. Callers of `makeBatch` and of the functions that clear don't,
// because those copy or destroy payloads.
@safe final class Call: WaitNode, @unchecked Sendable {
  @exclusivity(unchecked) private(set) var queue: Unmanaged<LaneQueue>?
  @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private var capacity = 0
  @exclusivity(unchecked) var completion: Completion?
  @exclusivity(unchecked) var key: Unmanaged<KeyQueue>?
  /// The position among the handler's calls; 0 once the call has ended. Guarded by: lane.mutex.
  @exclusivity(unchecked) var number: UInt64 = 0
  // Guarded by: lane.mutex.
  @exclusivity(unchecked) var barriers: [Completion] = []
  // Guarded by: lane.mutex.
  @exclusivity(unchecked) var isReplaced = false
  // Guarded by: lane.mutex.
  @exclusivity(unchecked) var isDelayed = false
  @exclusivity(unchecked) var attempts = 0
  @exclusivity(unchecked) var count = 1
  let worker = WorkerReference()
  /// Set once the completions wait for the call itself rather than for its key or handler.
  @exclusivity(unchecked) var hasMoved = false
  @exclusivity(unchecked) var isRare = false
  @exclusivity(unchecked) var rare = Rare()
  @exclusivity(unchecked) var gathered: PayloadQueue<LaneItem>?
  @exclusivity(unchecked) private var batch: OwnedPayload?
  /// True if a lock that holds nothing began between two attempts.
  var isGivenUp: Bool { unsafe isRare && rare.timer?.isGivenUp.load(ordering: .acquiring) == true }

  struct Rare {
    var isBatch = false
    var completions: [Completion] = []
    var lastError: (any Error)?
    var isLastAttempt = false
    var isDropReported = false
    var timer: Delay?
    // Guarded by: lane.mutex.
    var keptWorker: Worker?
    // Guarded by: lane.mutex.
    var attempt: AttemptTask?
  }

  deinit { if let memory = unsafe memory { unsafe PayloadLayout.deallocate(memory) } }

  override func needs(_ goal: Invocation) -> WaitNeeds {
    if let worker = worker.load() { return .any([worker]) }
    return unsafe queue?._withUnsafeGuaranteedRef { $0.lane.needs } ?? .free
  }

  override var handlerID: UInt64? { unsafe queue?._withUnsafeGuaranteedRef { $0.record.id } }
  override var eventAnchor: EventAnchor? { unsafe queue?._withUnsafeGuaranteedRef { $0.anchor } }

  @inline(__always) func reserve(for queue: LaneQueue) {
    unsafe self.queue = .passUnretained(queue)
    if unsafe queue.layout.stride > capacity { grow(to: queue.layout) }
  }

  private func grow(to layout: PayloadLayout) {
    if let memory = unsafe memory { unsafe PayloadLayout.deallocate(memory) }
    unsafe memory = unsafe layout.allocate(1)
    unsafe capacity = layout.stride
  }

  @inline(__always) var place: UnsafeMutableRawPointer { unsafe memory.unsafelyUnwrapped }

  @inline(__always) func begin(_ item: consuming LaneItem) {
    unsafe key = unsafe item.key
    unsafe completion = item.completion
    unsafe attempts = 0
    unsafe hasMoved = false
    if unsafe isRare { reset() }
  }

  @inline(never) private func reset() {
    unsafe (isRare, count) = (false, 1)
    unsafe rare = Rare()
  }

  /// Valid until ``clear()``.
  @inline(__always) var payload: BorrowedPayload {
    if unsafe isRare, unsafe rare.isBatch, let batch = unsafe batch?.borrowed { return batch }
    return unsafe BorrowedPayload(place, queue.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.layout.type })
  }

  // MARK: Batches

  func beginBatch(
    _ number: Int, of queue: inout PayloadQueue<LaneItem>, _ key: Unmanaged<KeyQueue>?, _ layout: PayloadLayout
  ) {
    unsafe begin(LaneItem(nil, key))
    unsafe (isRare, count, rare.isBatch) = (true, number, true)
    var taken = unsafe gathered.take() ?? PayloadQueue(layout)
    // On a shared lane, the last batch may have belonged to another handler.
    if taken.layout.type != layout.type { taken = PayloadQueue(layout) }
    if number == queue.count {
      swap(&queue, &taken)
    } else {
      queue.moveFirst(number, to: &taken)
    }
    unsafe gathered = consume taken
  }

  /// Called after the claim, because until then a lock may hold the payloads and a bounded buffer
  /// may drop some.
  func makeBatch(_ rule: BatchRule) {
    guard unsafe rare.isBatch, unsafe gathered?.isEmpty == false, var taken = unsafe gathered.take() else { return }
    for i in 0..<taken.count { if let completion = taken[i].completion { unsafe rare.completions.append(completion) } }
    unsafe batch = rule.make(&taken)
    taken.recycle()
    unsafe gathered = consume taken
  }

  func dropFirstOfBatch(_ dropped: inout (completion: Completion?, node: WaitNode)?) -> OwnedPayload? {
    unsafe count -= 1
    guard var taken = unsafe gathered.take() else { return nil }
    dropped = (taken.takeFirst().completion, node)
    let payload = taken.ownedPayloadOfTaken()
    unsafe gathered = consume taken
    return payload
  }

  // MARK: Completions

  var node: WaitNode {
    if unsafe hasMoved { return self }
    return unsafe key?.takeUnretainedValue() ?? queue?.takeUnretainedValue() ?? self
  }

  @inline(never) func moveCompletions() {
    let node = node
    unsafe hasMoved = true
    for completion in completions where completion.isAwaited { completion.moveOutstanding(of: node, on: self) }
  }

  var completions: [Completion] {
    var all = unsafe completion.map { [$0] } ?? []
    guard unsafe isRare else { return all }
    unsafe all += rare.completions
    for i in unsafe 0..<(rare.isBatch ? gathered?.count ?? 0 : 0) {
      if let one = unsafe gathered?[i].completion { all.append(one) }
    }
    return all
  }

  func detach(from queue: LaneQueue, _ after: inout HandlerLane.After) {
    let node = node
    unsafe completion = after.detach(completion, at: node, of: queue)
    guard unsafe isRare else { return }
    unsafe rare.completions = unsafe rare.completions.compactMap { after.detach($0, at: node, of: queue) }
    for i in unsafe 0..<(rare.isBatch ? gathered?.count ?? 0 : 0) {
      unsafe gathered?[i].completion = after.detach(gathered?[i].completion, at: node, of: queue)
    }
  }

  @inline(__always) func passBarriers(_ after: inout HandlerLane.After) {
    guard unsafe !barriers.isEmpty else { return }
    after.add { unsafe $0.passed += barriers.map { ($0, self) } }
    unsafe barriers = []
  }

  @inline(__always) func clearPayload() {
    unsafe queue.unsafelyUnwrapped._withUnsafeGuaranteedRef { unsafe $0.layout.destroy(place) }
  }

  func clear() {
    unsafe completion = nil
    guard unsafe isRare else { return clearPayload() }
    if unsafe rare.isBatch {
      unsafe batch = nil
      if unsafe gathered?.isEmpty == false { unsafe gathered = nil }
      unsafe rare.completions = []
    } else {
      clearPayload()
    }
    unsafe (rare.lastError, rare.timer) = (nil, nil)
  }
}

struct LaneItem: PayloadHeader, Sendable {
  enum Kind: UInt {
    case call
    case barrier
    case end
    case key
    case hole
  }

  var completion: Completion?
  /// The key's address with the kind in its low bits, so that an item takes 16 bytes.
  private let word: UInt

  @inline(__always) init(_ completion: Completion?, _ key: Unmanaged<KeyQueue>? = nil, _ kind: Kind = .call) {
    self.completion = completion
    word = unsafe UInt(bitPattern: key?.toOpaque()) | kind.rawValue
  }

  @inline(__always) var isCall: Bool { word & 7 == 0 }
  @inline(__always) var hasPayload: Bool { isCall }
  var kind: Kind { Kind(rawValue: word & 7) ?? .call }

  /// The key table keeps the key alive while an item refers to it.
  @inline(__always) var key: Unmanaged<KeyQueue>? {
    unsafe UnsafeRawPointer(bitPattern: word & ~7).map { unsafe Unmanaged.fromOpaque($0) }
  }
}
