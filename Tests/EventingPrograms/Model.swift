import Eventing

/// The specification of an event: computes the expected behaviour in the simplest way.
final class Model {
  struct State {
    var isGone = false
    var isLocked = false
    var calls = 0
  }
  struct Report {
    var sequence: UInt64 = 0
    var delivered = 0
    var skipped = 0
    var failed = 0

    func isThatOf(_ report: SendReport) -> Bool {
      report.sequence == sequence && report.delivered == delivered && report.skipped == skipped
        && report.failures.count == failed
    }
  }
  enum Waiting {
    case join([Int])
    case occurrence(Int)
  }

  static let mostPosts = 200
  private(set) var handlers: [State] = []
  private(set) var calls: [Call] = []
  private(set) var isEventLocked = false
  private var kinds: [Kind] = []
  private var order: [Int] = []
  private var waiting: [Waiting] = []
  private var posts = 0
  private var sequence: UInt64 = 0

  var living: [Int] { handlers.indices.filter { !handlers[$0].isGone } }

  func send(_ payload: Int) -> Report {
    let report = deliver(payload)
    drain()
    return report
  }

  /// Makes the queued adds and delivers the queued posts, in their order.
  func drain() {
    while !waiting.isEmpty {
      switch waiting.removeFirst() {
      case .join(let numbers):
        for number in numbers {
          order.insert(number, at: order.firstIndex { kinds[$0].priority < kinds[number].priority } ?? order.endIndex)
        }
      case .occurrence(let payload): _ = deliver(payload)
      }
    }
  }

  private func deliver(_ payload: Int) -> Report {
    sequence += 1
    var report = Report(sequence: sequence)
    for number in order where !handlers[number].isGone {
      if isEventLocked || handlers[number].isLocked {
        report.skipped += 1
        continue
      }
      let kind = kinds[number]
      calls.append(Call(handler: number, payload: payload))
      if kind.isOnce { handlers[number].isGone = true }
      let count = handlers[number].calls
      handlers[number].calls += 1
      if count < kind.actions.count { perform(kind.actions[count]) }
      if kind.throwsError { report.failed += 1 } else { report.delivered += 1 }
    }
    return report
  }

  func perform(_ action: Action) {
    switch action {
    case .add(let kind): join([kind])
    case .addGroup(let kinds): join(kinds)
    case .remove(let number): change(number) { $0.isGone = true }
    case .removeNamed(let number): for one in named(number) { handlers[one].isGone = true }
    case .removeAll: for one in living { handlers[one].isGone = true }
    case .lock(let number): change(number) { $0.isLocked = true }
    case .unlock(let number): change(number) { $0.isLocked = false }
    case .lockNamed(let number): for one in named(number) { handlers[one].isLocked = true }
    case .unlockAll: for one in living { handlers[one].isLocked = false }
    case .gate(let isOn): isEventLocked = isOn
    case .dropOwner(let number):
      if !handlers.isEmpty, kinds[number % handlers.count].hasOwner { handlers[number % handlers.count].isGone = true }
    case .post(let number):
      posts += 1
      if posts <= Model.mostPosts { waiting.append(.occurrence(number)) }
    }
  }

  private func join(_ new: [Kind]) {
    waiting.append(.join(Array(handlers.count..<handlers.count + new.count)))
    for kind in new {
      kinds.append(kind)
      handlers.append(State())
    }
  }

  private func change(_ number: Int, _ body: (inout State) -> Void) {
    guard !handlers.isEmpty, !handlers[number % handlers.count].isGone else { return }
    body(&handlers[number % handlers.count])
  }

  private func named(_ number: Int) -> [Int] { living.filter { kinds[$0].name == World.names[number % 2] } }
}
