import AsyncAlgorithms
import Eventing
import Foundation
import Observation
import OpenCombine
import Synchronization

let buses: [any ComparedBus.Type] = [
  EventBusOfOne.self, CenterBus.self, SubjectBus.self, StreamBus.self, ShareBus.self, ChannelBus.self,
  ProducersBus.self, ObservationsBus.self, LockedBus.self,
]

/// This library's `Event`.
struct EventBusOfOne: ComparedBus {
  static let name = "swift-eventing"
  private let event = Event<Int>()

  func add(_ body: @escaping @Sendable (Int) -> Void) -> @Sendable () -> Void {
    let token = event.addHandler(perform: body)
    return { [event] in event.remove(token) }
  }
  func addOnce(_ body: @escaping @Sendable (Int) -> Void) { event.once(perform: body) }
  func send(_ number: Int) { event.post(number) }
  func addAsync(bound: Int?, _ body: @escaping @Sendable (Int) async -> Void) async -> Bool {
    event.addHandler(.buffering(bound.map { .newest($0) } ?? .unbounded), on: .inOrder, perform: body)
    return true
  }
  @MainActor func addInMainActorClass(_ table: Table) { event.addHandler(on: .main) { table.append($0) } }
  func loop(_ body: @Sendable (Int) -> Void) async { for await number in event.payloads() { body(number) } }
}

/// Foundation's `NotificationCenter`, with observers that are closures.
struct CenterBus: ComparedBus {
  static let name = "NotificationCenter"
  private static let changed = Notification.Name("changed")
  private let center = NotificationCenter()

  func add(_ body: @escaping @Sendable (Int) -> Void) -> @Sendable () -> Void {
    let observer = Observer(
      center.addObserver(forName: CenterBus.changed, object: nil, queue: nil) {
        body($0.userInfo?["number"] as? Int ?? -1)
      })
    return { [center] in center.removeObserver(observer.object) }
  }
  /// Adds an observer that removes itself, as Foundation's documentation shows.
  func addOnce(_ body: @escaping @Sendable (Int) -> Void) {
    let own = Mutex<Observer?>(nil)
    let box = Box(own)
    let observer = center.addObserver(forName: CenterBus.changed, object: nil, queue: nil) { [center] note in
      if let observer = box.mutex.withLock({ $0 }) { center.removeObserver(observer.object) }
      body(note.userInfo?["number"] as? Int ?? -1)
    }
    box.mutex.withLock { $0 = Observer(observer) }
  }
  func send(_ number: Int) { center.post(name: CenterBus.changed, object: nil, userInfo: ["number": number]) }
  func addAsync(bound: Int?, _ body: @escaping @Sendable (Int) async -> Void) async -> Bool {
    guard bound == nil else { return false }
    _ = add { number in Task { await body(number) } }
    return true
  }
  /// The compiler refuses `table.append` in the closure, which is `@Sendable`.
  @MainActor func addInMainActorClass(_ table: Table) {
    _ = center.addObserver(forName: CenterBus.changed, object: nil, queue: .main) { note in
      let number = note.userInfo?["number"] as? Int ?? -1
      MainActor.assumeIsolated { table.append(number) }
    }
  }

  // Safe: any thread may remove an observer.
  private struct Observer: @unchecked Sendable {
    let object: any NSObjectProtocol
    init(_ object: any NSObjectProtocol) { self.object = object }
  }
  private final class Box: Sendable {
    let mutex: Mutex<Observer?>
    init(_ mutex: consuming Mutex<Observer?>) { self.mutex = mutex }
  }
}

/// OpenCombine's `PassthroughSubject`.
// Safe: a subject and its cancellables have locks of their own. `kept` is guarded by `lock`.
final class SubjectBus: ComparedBus, @unchecked Sendable {
  static let name = "OpenCombine"
  private let subject = PassthroughSubject<Int, Never>()
  private let lock = NSLock()
  private var kept: [AnyCancellable] = []

  // Safe: any thread may cancel a subscription.
  private final class Token: @unchecked Sendable {
    let cancellable: AnyCancellable
    init(_ cancellable: AnyCancellable) { self.cancellable = cancellable }
  }

  func add(_ body: @escaping @Sendable (Int) -> Void) -> @Sendable () -> Void {
    let token = Token(subject.sink { body($0) })
    lock.withLock { kept.append(token.cancellable) }
    return { token.cancellable.cancel() }
  }
  func addOnce(_ body: @escaping @Sendable (Int) -> Void) {
    let cancellable = subject.first().sink { body($0) }
    lock.withLock { kept.append(cancellable) }
  }
  func send(_ number: Int) { subject.send(number) }
  func addAsync(bound: Int?, _ body: @escaping @Sendable (Int) async -> Void) async -> Bool {
    guard let bound else {
      _ = add { number in Task { await body(number) } }
      return true
    }
    let values = subject.buffer(size: bound, prefetch: .byRequest, whenFull: .dropOldest).values
    var iterator = values.makeAsyncIterator()
    nonisolated(unsafe) let first = iterator  // Safe: only the task below uses the iterator.
    Task.detached {
      iterator = first
      while let number = await iterator.next() { await body(number) }
    }
    try? await Task.sleep(for: .milliseconds(100))
    return true
  }
  @MainActor func addInMainActorClass(_ table: Table) {
    let token = Token(subject.sink { table.append($0) })
    lock.withLock { kept.append(token.cancellable) }
  }
  func loop(_ body: @Sendable (Int) -> Void) async { for await number in subject.values { body(number) } }
}

/// An `AsyncStream`, with one asynchronous consumer.
final class StreamBus: SequenceBus {
  static let name = "AsyncStream"
  private let continuation = Mutex<AsyncStream<Int>.Continuation?>(nil)

  func send(_ number: Int) { _ = continuation.withLock { $0 }?.yield(number) }
  func values(bound: Int?) -> Values? { stream(bound: bound) }
  func stream(bound: Int?) -> AsyncStream<Int> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Int.self, bufferingPolicy: bound.map { .bufferingNewest($0) } ?? .unbounded)
    self.continuation.withLock { $0 = continuation }
    return stream
  }
}

/// `share()` over an `AsyncStream`. A bound is that of the stream, from which `share()` takes one value at a time.
struct ShareBus: SequenceBus {
  static let name = "share()"
  private let base = StreamBus()

  func send(_ number: Int) { base.send(number) }
  func values(bound: Int?) -> Values? { base.stream(bound: bound).share() }
}

/// An `AsyncChannel`. A sender that cannot suspend sends from a new task.
struct ChannelBus: SequenceBus {
  static let name = "AsyncChannel"
  private let channel = AsyncChannel<Int>()

  func send(_ number: Int) { Task { await channel.send(number) } }
  func values(bound: Int?) -> Values? { bound == nil ? channel : nil }
}

/// A `MultiProducerSingleConsumerAsyncChannel`. A sender that cannot suspend goes on when it is told to wait.
final class ProducersBus: SequenceBus {
  private typealias Channel = MultiProducerSingleConsumerAsyncChannel<Int, Never>
  static let name = "multi-producer channel"
  private let source = Mutex<Channel.Source?>(nil)

  func send(_ number: Int) { source.withLock { _ = try? $0?.send(number) } }
  func values(bound: Int?) -> Values? {
    guard bound == nil else { return nil }
    var made = Channel.makeChannel(backpressureStrategy: .watermark(low: 2, high: 4))
    let channel = made.takeChannel()
    source.withLock { $0 = made.source.makeAdditionalSource() }
    return channel.elements()
  }
}

/// `Observations` of a property of an `@Observable` class that any thread may change.
struct ObservationsBus: SequenceBus {
  static let name = "Observations"
  private let model = Model()

  func send(_ number: Int) { model.number = number }
  func values(bound: Int?) -> Values? {
    guard bound == nil else { return nil }
    return Observations { [model] in model.number }.filter { $0 >= 0 }  // without the value before the first send
  }

  @Observable final class Model: Sendable {
    @ObservationIgnored private let stored = Mutex(-1)
    var number: Int {
      get {
        access(keyPath: \.number)
        return stored.withLock { $0 }
      }
      set { withMutation(keyPath: \.number) { stored.withLock { $0 = newValue } } }
    }
  }
}

/// A hand-written event of 20 lines: a dictionary under a lock, copied for each send.
final class LockedBus: ComparedBus {
  static let name = "naive, locked"
  private let state = Mutex<(last: Int, handlers: [Int: @Sendable (Int) -> Void])>((0, [:]))

  func add(_ body: @escaping @Sendable (Int) -> Void) -> @Sendable () -> Void {
    let id = state.withLock { state in
      state.last += 1
      state.handlers[state.last] = body
      return state.last
    }
    return { self.state.withLock { _ = $0.handlers.removeValue(forKey: id) } }
  }
  func addOnce(_ body: @escaping @Sendable (Int) -> Void) {
    state.withLock { state in
      state.last += 1
      state.handlers[state.last] = { [id = state.last, unowned self] number in
        self.state.withLock { _ = $0.handlers.removeValue(forKey: id) }
        body(number)
      }
    }
  }
  func send(_ number: Int) { for body in state.withLock({ Array($0.handlers.values) }) { body(number) } }
  func addAsync(bound: Int?, _ body: @escaping @Sendable (Int) async -> Void) async -> Bool {
    guard bound == nil else { return false }
    _ = add { number in Task { await body(number) } }
    return true
  }
  /// The compiler refuses `table.append` in the closure, which is `@Sendable`.
  @MainActor func addInMainActorClass(_ table: Table) {
    _ = add { number in Task { @MainActor in table.append(number) } }
  }
}
