// Callers that are owners themselves, and code that passes sources on. `Contexts.swift` of
// `EventingTests` has more of them, and runs them.
import Eventing
import World

@MainActor final class ViewModel {
  var fraction = 0.0
  var counts: [Int] = []
  let titleChanged = Event<String>()
  @Observed var volume = 0.5

  init(_ d: Downloader) {
    d.cancelled.addHandler(on: .main, owner: self) { owner, _ in owner.stop() }
    d.progress.addHandler(.cancellingPrevious, on: .main, owner: self) { me, fraction in await me.load(fraction) }
    d.progress.addHandler(.throttled(every: .milliseconds(100)), on: .main, owner: self) { $0.fraction = $1 }
    d.progress.add(Handler(.debounced(for: .seconds(1)), on: .main, owner: self) { $0.fraction = $1 })
    d.progress.once(on: .main) { [weak self] in self?.fraction = $0 }
    $volume.addHandler(on: .main, owner: self) { me, volume in me.fraction = volume }
    d.progress.batches(of: 10).addHandler(on: .main, owner: self) { me, batch in me.counts.append(batch.count) }
  }

  func load(_ fraction: Double) async { self.fraction = fraction }
  func stop() {}

  func sendFromHere(_ d: Downloader) async throws {
    try await titleChanged.withHandler(Handler(on: .main) { _ in self.fraction = 3 }) { try await work() }
    let half = try await d.progress.next(within: .seconds(2)) { fraction in fraction >= 0.5 }
    for await next in d.progress.payloads(buffering: .latest) { fraction = max(half, next) }
  }
}

final class Downloader: Sendable {
  let progress = Event<Double>("progress")
  let cancelled = Signal()
  let resized = Event<(Int, Int)>()
}

actor Accountant {
  var total = 0.0
  let changed = Event<Double>()

  func listen(_ d: Downloader) async {
    d.progress.addHandler(.named("total"), .retrying(.immediately(attempts: 3)), isolatedTo: self) { $0.total += $1 }
    d.progress.add(Handler(.debounced(for: .seconds(1)), isolatedTo: self) { me, fraction in me.add(fraction) })
    await changed.withLocked(changed.addHandler { print($0) }) { total += 1 }
    d.progress.batches(of: 100).addHandler(isolatedTo: self) { me, batch in me.total += batch.reduce(0, +) }
  }

  func add(_ fraction: Double) { total += fraction }
}

final class Service: Sendable {
  init(_ d: Downloader) {
    d.progress.addHandler(.named("named"), .priority(1), on: .background, owner: self) { $0.note($1) }
    d.cancelled.addHandler(.once, owner: self) { owner, _ in owner.reset() }
    d.resized.addHandler(owner: self) { $0.resized($1.0, $1.1) }
  }

  func note(_ fraction: Double) {}
  func reset() {}
  func resized(_ width: Int, _ height: Int) {}
}

final class MutedPlayer: Sendable {
  private let state = Observed(0.5)
  var volume: Double { state.value }
  var volumes: some EventSource<Double> { state }
  func mute() { state.value = 0 }
}

func listen<S: EventSource<Int>>(_ source: S, _ any: any EventSource<Int>, window: Window) async {
  let token = source.addHandler { print($0) }
  source.addHandler(on: .main) { window.fraction = Double($0) }
  source.remove(token)
  any.addHandler(.named("x"), on: .main) { window.fraction = Double($0) }
  for await number in any.payloads() { print(number) }
  any.batches(of: 3).addHandler { print($0.count) }
}

func manage<E: EventSource<Int> & HandlerRegistry>(_ event: E, _ token: HandlerToken) async {
  event.remove(token)
  event.removeAll()
  event.lock(token)
  await event.quiesce()
}

func silence(_ registries: [any HandlerRegistry]) async {
  for registry in registries {
    registry.lockAll(where: .tagged("ui"))
    print(registry.name ?? "", await registry.handlers())
  }
}
