import Dispatch
import Eventing

// Call sites in every kind of caller: functions, a view model, an actor, a class, and a struct.
extension CallSites {
  // MARK: A nonisolated synchronous function

  static func synchronous(_ d: Downloader, view: ProgressView, queue: DispatchQueue, account: Account, store: Store) {
    d.progress.addHandler { fraction in print(fraction) }
    d.progress.addHandler { print($0) }
    d.progress.addHandler { _ in print("none") }
    d.progress.addHandler { fraction in
      let percent = fraction * 100
      if percent > 50 { print(percent) }
    }
    d.progress.addHandler { fraction in if fraction > 1 { throw Problem() } }
    d.progress.addHandler { fraction in try await store.save(fraction) }
    d.progress.addHandler(.named("save"), .priority(3)) { try await store.save($0) }
    d.progress.addHandler(on: .main) { view.fraction = $0 }
    d.progress.addHandler(on: .main) { fraction in
      try await store.save(fraction)
      view.fraction = fraction
    }
    d.progress.addHandler(on: .background) { print($0) }
    d.progress.addHandler(on: .background(.utility)) { print($0) }
    d.progress.addHandler(on: .inOrder(priority: .utility)) { fraction in try await store.save(fraction) }
    d.progress.addHandler(on: .queue(queue)) { print($0) }
    d.progress.addHandler(on: .queue(.main)) { print($0) }
    d.progress.addHandler(on: .concurrent(limit: 4)) { try await store.save($0) }
    d.progress.addHandler(on: .task) { try await store.save($0) }
    d.progress.addHandler(on: .task(priority: .high)) { try await store.save($0) }
    d.progress.addHandler(.named("all"), .priority(2), on: .background(.utility)) { print($0) }
    d.progress.addHandler(isolatedTo: account) { account, fraction in account.n += fraction }
    d.progress.addHandler(isolatedTo: account) { $0.n += $1 }
    d.progress.addHandler(isolatedTo: account) { account, fraction in
      try await store.save(fraction)
      account.n += fraction
    }
    d.cancelled.addHandler { print("signal") }
    d.cancelled.addHandler { try await store.save(0) }
    d.cancelled.addHandler(on: .main) { view.fraction = 0 }
    d.cancelled.addHandler(on: .main) {
      try await store.save(0)
      view.fraction = 0
    }
    d.cancelled.addHandler(on: .background) { print("signal") }
    d.cancelled.addHandler { _ in print("signal") }
    d.cancelled.once { print("signal once") }
    d.resized.addHandler { width, height in print(width * height) }
    d.resized.addHandler { print($0 * $1) }
    d.resized.addHandler { size in print(size.0) }
    d.resized.addHandler { (width: Int, height: Int) in print(width * height) }
    d.resized.addHandler { width, _ in print(width) }
    d.resized.addHandler(on: .main) { width, height in view.fraction = Double(width) / Double(height) }
    d.resized.addHandler { width, height in try await store.save(Double(width * height)) }
    d.progress.once(.named("first"), on: .main) { view.fraction = $0 }
    d.progress.once(on: .background(.utility)) { print($0) }
    d.progress.once { try await store.save($0) }
    d.progress.addHandler(.once, isolatedTo: account) { $0.n += $1 }
    let named: @Sendable (Double) -> Void = { print($0) }
    d.progress.addHandler(perform: named)
    d.progress.addHandler(.named("function"), perform: globalHandler)
    d.progress.addHandler(perform: globalAsyncHandler)
    d.progress.addHandler(on: .main, perform: mainHandler)
    d.progress.addHandler(on: .main, perform: mainAsyncHandler)
    d.progress.addHandler(perform: store.save)
    d.resized.addHandler(perform: area)
    d.progress.addHandler(on: .main) { [weak view] in view?.fraction = $0 }
    d.progress.addHandler(.once, on: .main, perform: mainHandler)
  }

  @Sendable static func globalHandler(_ fraction: Double) {}
  static func globalAsyncHandler(_ fraction: Double) async throws {}
  @MainActor static func mainHandler(_ fraction: Double) {}
  @MainActor static func mainAsyncHandler(_ fraction: Double) async {}
  static func area(_ size: (Int, Int)) {}

  // MARK: A view model

  @MainActor final class ViewModel {
    var fraction = 0.0
    var lines: [String] = []
    private let notSendable = NotSendable()
    private let bag = HandlerBag()
    private var token: HandlerToken?
    let titleChanged = Event<String>()

    init(_ d: Downloader) {
      token = d.progress.addHandler(on: .main) { [weak self] fraction in self?.fraction = fraction }
      d.progress.addHandler(on: .main) { [weak self] in self?.fraction = $0 }.store(in: bag)
      d.progress.addHandler(on: .main) { [weak self] fraction in
        guard let self else { return }
        self.fraction = fraction
        lines.append("\(fraction)")
      }
      d.progress.addHandler(on: .main, owner: self) { owner, fraction in owner.fraction = fraction }
      d.progress.addHandler(on: .main, owner: self) { $0.fraction = $1 }
      d.progress.addHandler(on: .main, owner: self) { owner, fraction in
        await owner.load(fraction)
        owner.fraction = fraction
      }
      d.progress.addHandler(on: .main, owner: self) { $0.show($1) }
      d.progress.addHandler(on: .main, owner: self) { await $0.load($1) }
      d.progress.addHandler(owner: self) { await $0.load($1) }
      d.progress.addHandler(owner: self) { $0.fromAnywhere($1) }
      d.cancelled.addHandler(on: .main, owner: self) { $0.stop() }
      d.resized.addHandler(on: .main, owner: self) { $0.resize($1, $2) }
      d.resized.addHandler(on: .main, owner: self) { owner, size in owner.resize(size.0, size.1) }
      d.progress.addHandler(.once, on: .main, owner: self) { owner, fraction in owner.fraction = fraction }
      d.progress.addHandler(on: .main) { _ in self.notSendable.count += 1 }
      let local = NotSendable()
      d.progress.addHandler(on: .main) { _ in local.count += 1 }
      d.progress.addHandler { fraction in Task { @MainActor in self.fraction = fraction } }
      d.progress.addHandler { [weak self] fraction in await self?.load(fraction) }
    }

    func show(_ fraction: Double) { self.fraction = fraction }
    func load(_ fraction: Double) async { self.fraction = fraction }
    func stop() {}
    func resize(_ width: Int, _ height: Int) {}
    nonisolated func fromAnywhere(_ fraction: Double) {}

    func sendFromHere(_ d: Downloader) async {
      d.progress.post(fraction, from: self)
      let report = await d.progress.send(fraction, from: self)  // no hop, because `send` is nonisolated(nonsending)
      MainActor.assertIsolated()
      print(report)
      titleChanged.post("from \(fraction)")
      await titleChanged.quiesce()
      await titleChanged.withLocked(titleChanged.addHandler { print($0) }) { fraction = 2 }
    }

    deinit { if let token { Cleaner.event.remove(token) } }
  }

  enum Cleaner { static let event = Event<Double>("cleaner") }

  // MARK: An actor

  actor Accountant {
    var total = 0.0
    let changed = Event<Double>()

    func listen(_ d: Downloader) async {
      d.progress.addHandler(isolatedTo: self) { me, fraction in me.total += fraction }
      d.progress.addHandler(isolatedTo: self) { $0.total += $1 }
      d.progress.addHandler(isolatedTo: self) { me, fraction in me.add(fraction) }
      d.progress.addHandler(isolatedTo: self) { me, fraction in
        await Task.yield()
        me.total += fraction
      }
      d.progress.addHandler { [weak self] fraction in await self?.add(fraction) }
      d.progress.addHandler(owner: self) { me, fraction in await me.add(fraction) }
      d.progress.addHandler(.once, isolatedTo: self) { me, fraction in me.total += fraction }
      d.cancelled.addHandler(isolatedTo: self) { me, _ in me.total = 0 }
      d.resized.addHandler(isolatedTo: self) { me, size in me.total += Double(size.0) }
      changed.post(total, from: self)
      await changed.send(total, from: self)
      total += 1
      d.progress.removeAll(where: .ownedBy(self))
    }

    func add(_ fraction: Double) { total += fraction }
    deinit { changed.post(0) }
  }

  // MARK: A Sendable class, and its deinit

  final class Service: Sendable {
    let failed = Event<String>("failed")
    let bag = HandlerBag()
    let downloads: Downloader

    init(_ d: Downloader) {
      downloads = d
      d.progress.addHandler(owner: self) { owner, fraction in owner.failed.post("\(fraction)") }
      d.progress.addHandler(owner: self) { $0.note($1) }
      d.progress.addHandler(owner: self) { $0.note($1) }
      d.progress.addHandler(owner: self) { try $0.noteThrowing($1) }
      d.progress.addHandler(owner: self) { await $0.noteLater($1) }
      d.progress.addHandler(owner: self) { try await $0.noteLaterThrowing($1) }
      d.progress.addHandler(on: .background(.utility), owner: self) { $0.note($1) }
      d.progress.addHandler(on: .concurrent(limit: 2), owner: self) { await $0.noteLater($1) }
      d.progress.addHandler(.named("named"), .priority(1), on: .background(.utility), owner: self) { $0.note($1) }
      d.progress.addHandler(owner: self) { owner, fraction in await owner.noteLater(fraction) }
      d.cancelled.once(owner: self) { owner, _ in owner.reset() }
      d.cancelled.addHandler(owner: self) { $0.reset() }
      d.cancelled.addHandler(owner: self) { owner in owner.reset() }
      d.cancelled.addHandler(owner: self) { owner, _ in owner.reset() }
      d.resized.addHandler(owner: self) { $0.resized($1, $2) }
      d.progress.addHandler(.once, owner: self) { owner, fraction in owner.note(fraction) }
      d.progress.addHandler { [weak self] in self?.note($0) }.store(in: bag)
      d.progress.addHandler { [bag] _ in bag.removeAll() }
    }

    func note(_ fraction: Double) {}
    func noteThrowing(_ fraction: Double) throws {}
    func noteLater(_ fraction: Double) async {}
    func noteLaterThrowing(_ fraction: Double) async throws {}
    func reset() {}
    func resized(_ width: Int, _ height: Int) {}

    deinit {
      downloads.progress.removeAll(where: .ownedBy(self))
      downloads.cancelled.post()
      downloads.resized.post((0, 0))
      failed.post("end")
      bag.removeAll()
    }
  }

  // MARK: A struct, a generic function, an existential, a source without `send`

  struct Feed: Sendable {
    private let added = Event<Int>()
    var additions: some EventSource<Int> { added.source }
    let stored: any EventSource<Int>
    init() { stored = added }
    func add() { added.post(1) }
  }

  static func listen<S: EventSource<Int>>(_ source: S, _ any: any EventSource<Int>, view: ProgressView) async throws {
    source.addHandler { print($0) }
    source.addHandler(on: .main) { view.fraction = Double($0) }
    any.addHandler { print($0) }
    any.addHandler(on: .main) { view.fraction = Double($0) }
    any.addHandler { n async in print(n) }
    Feed().additions.once { print($0) }
  }

  static func generic<P: Sendable>(_ event: Event<P>, _ payload: P) async {
    event.addHandler { print($0) }
    event.post(payload)
    await event.send(payload)
    event.addHandler { payload in
      print(payload); await Task.yield()
    }
  }
}
