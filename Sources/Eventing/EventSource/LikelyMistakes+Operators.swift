// Unavailable names of other libraries, for programs that are ported. The compiler shows what to
// write instead. The guides *From …* have the whole tables.

extension EventSource {
  @available(*, unavailable, message: "add a handler: addHandler { payload in … }")
  @discardableResult public nonisolated func sink(
    receiveValue: @escaping @Sendable (Payload) -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(
    *, unavailable,
    message: "add a handler: addHandler { payload in … }; its end is that of 'for await payload in event.payloads()'"
  )
  @discardableResult public nonisolated func sink(
    receiveCompletion: @escaping @Sendable (Any) -> Void, receiveValue: @escaping @Sendable (Payload) -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(*, unavailable, message: "add a handler: addHandler { payload in … }")
  @discardableResult public nonisolated func subscribe(
    onNext: @escaping @Sendable (Payload) -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(
    *, unavailable, message: "add a handler: addHandler { payload in … }, or forward(to: event) to another event"
  )
  @discardableResult public nonisolated func bind(
    onNext: @escaping @Sendable (Payload) -> Void
  ) -> HandlerToken { fatalError("unavailable") }

  @available(
    *, unavailable, message: "a handler says where it runs: addHandler(on: .main) { … }, or .background, .queue(queue)"
  )
  public nonisolated func receive<Scheduler>(on scheduler: Scheduler) -> Self { fatalError("unavailable") }

  @available(
    *, unavailable, message: "a handler says where it runs: addHandler(on: .main) { … }, or .background, .queue(queue)"
  )
  public nonisolated func observe<Scheduler>(on scheduler: Scheduler) -> Self { fatalError("unavailable") }

  @available(
    *, unavailable, message: "a handler has a pace: event.add(Handler { … }.debounced(for: .milliseconds(300)))"
  )
  public nonisolated func debounce<Scheduler>(for pause: Duration, scheduler: Scheduler) -> Self {
    fatalError("unavailable")
  }

  @available(
    *, unavailable, message: "a handler has a pace: event.add(Handler { … }.throttled(every: .milliseconds(100)))"
  )
  public nonisolated func throttle<Scheduler>(
    for interval: Duration, scheduler: Scheduler, latest: Bool
  ) -> Self { fatalError("unavailable") }

  @available(
    *, unavailable, message: "an event needs no erasing: return 'event.source' as some EventSource<Payload>"
  )
  public nonisolated func eraseToAnyPublisher() -> Self { fatalError("unavailable") }

  @available(
    *, unavailable,
    message: "set it in a handler: addHandler(owner: object) { object, payload in object.property = payload }"
  )
  @discardableResult public nonisolated func assign<Root: AnyObject>(
    to keyPath: ReferenceWritableKeyPath<Root, Payload>, on object: Root
  ) -> HandlerToken { fatalError("unavailable") }

  @available(*, unavailable, message: "leave it out: all handlers of an event, and of its views, share its deliveries")
  public nonisolated func share() -> Self { fatalError("unavailable") }

  @available(
    *, unavailable,
    message: "do the work in an asynchronous handler; addHandler(on: .restarting) { … } cancels the call before"
  )
  public nonisolated func flatMap<Output>(_ transform: @escaping (Payload) -> Output) -> Self {
    fatalError("unavailable")
  }

  @available(
    *, unavailable,
    message: "keep the result in an Observed: let sum = Observed(0); event.addHandler { n in sum.update { $0 += n } }"
  )
  public nonisolated func scan<Result>(
    _ initial: Result, _ next: @escaping (Result, Payload) -> Result
  ) -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "forward both to one event: first.forward(to: all); second.forward(to: all)")
  public nonisolated func merge<Other>(with other: Other) -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "use swift-async-algorithms: zip(first.payloads(), second.payloads())")
  public nonisolated func zip<Other>(_ other: Other) -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "use a loop: for await payload in event.payloads().prefix(count) { … }")
  public nonisolated func prefix(_ count: Int) -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "a handler takes batches: event.add(Handler(batchesOf: count) { payloads in … })")
  public nonisolated func collect(_ count: Int) -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "a handler is retried: event.add(Handler { … }.retrying(policy))")
  public nonisolated func retry(_ count: Int) -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "errors of handlers are payloads: event.failures.addHandler { failure in … }")
  public nonisolated func `catch`<Output>(_ handler: @escaping (any Error) -> Output) -> Self {
    fatalError("unavailable")
  }

  @available(*, unavailable, message: "post later: event.post(payload, after: .seconds(1))")
  public nonisolated func delay<Scheduler>(for pause: Duration, scheduler: Scheduler) -> Self {
    fatalError("unavailable")
  }

  @available(*, unavailable, message: "do the work in a handler: addHandler(on: .restarting) { payload in … }")
  public nonisolated func switchToLatest() -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "add a handler with a higher priority: addHandler(priority: 1) { payload in … }")
  public nonisolated func handleEvents(receiveOutput: @escaping (Payload) -> Void) -> Self { fatalError("unavailable") }

  @available(*, unavailable, message: "read it in the handler: addHandler { payload in use(payload, observed.value) }")
  public nonisolated func withLatestFrom<Other>(_ other: Other) -> Self { fatalError("unavailable") }
}

extension Event {
  @available(*, unavailable, renamed: "post(_:)")
  public nonisolated func onNext(_ payload: Payload) { fatalError("unavailable") }
  @available(*, unavailable, renamed: "post(_:)")
  public nonisolated func accept(_ payload: Payload) { fatalError("unavailable") }
  @available(*, unavailable, renamed: "finish()")
  public nonisolated func onCompleted() { fatalError("unavailable") }
}

extension Observed {
  @available(*, unavailable, message: "set the value: observed.value = new")
  public func send(_ value: Value) { fatalError("unavailable") }
}

extension HandlerToken {
  @available(*, unavailable, message: "keep a HandlerBag: token.store(in: bag)")
  public func store(in set: inout Set<HandlerToken>) { fatalError("unavailable") }
  @available(*, unavailable, renamed: "store(in:)")
  public func disposed(by bag: HandlerBag) { fatalError("unavailable") }
  @available(*, unavailable, message: "a handler is removed: token.remove()")
  public func cancel() { fatalError("unavailable") }
  @available(*, unavailable, message: "a handler is removed: token.remove()")
  public func dispose() { fatalError("unavailable") }
}
