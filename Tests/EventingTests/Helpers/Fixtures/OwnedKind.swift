import Eventing
import Synchronization
import Testing

enum OwnedKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case inline, direct, background, async, method

  func add(to event: Event<Int>, _ owner: Owner, _ body: @escaping @Sendable (Int) -> Void) {
    switch self {
    case .inline: event.addHandler(owner: owner) { _, value in body(value) }
    case .direct: event.addHandler(owner: owner) { body($1) }
    case .background: event.addHandler(on: .background, owner: owner) { _, value in body(value) }
    case .async: event.addHandler(owner: owner) { _, value async in body(value) }
    case .method:
      owner.onUpdate.withLock { $0 = body }
      event.addHandler(owner: owner) { $0.update($1) }
    }
  }

  var testDescription: String { rawValue }
}

/// The canary shows whether the owner is alive.
final class Owner: Sendable {
  private let canary: Canary
  private let gone = Atomic<Bool>(false)
  private let onDeinit: (@Sendable () -> Void)?
  let onUpdate = ConditionLock<(@Sendable (Int) -> Void)?>(nil)

  init(_ live: LiveCount, onDeinit: (@Sendable () -> Void)? = nil) {
    canary = Canary(live)
    self.onDeinit = onDeinit
  }

  deinit {
    gone.store(true, ordering: .relaxed)
    onDeinit?()
  }

  var isGone: Bool { gone.load(ordering: .relaxed) }

  @Sendable func update(_ value: Int) { onUpdate.withLock { $0 }?(value) }
}
