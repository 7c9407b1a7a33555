import Dispatch
import Eventing

// Call sites as in top-level code, which belongs to the main actor and may await.
extension CallSites {
  @MainActor final class Model {
    var fraction = 0.0
    var loads = 0
    let progress: Event<Double>

    init(_ progress: Event<Double>) { self.progress = progress }

    func update(_ fraction: Double) { self.fraction = fraction }
    func load(_ fraction: Double) async { loads += 1 }

    func bind() {
      progress.addHandler(on: .main, owner: self) { $0.fraction = $1 }
      progress.addHandler(on: .main, owner: self) { $0.update($1) }
      progress.addHandler(on: .main, owner: self) { await $0.load($1) }
      progress.addHandler(on: .main) { [weak self] in self?.fraction = $0 }
    }
  }

  actor Tally {
    var n = 0
    func bind(_ progress: Event<Double>) { progress.addHandler(isolatedTo: self) { me, _ in me.n += 1 } }
  }

  @MainActor static func topLevel() async -> (
    reports: [SendReport], seen: Int, fraction: Double, loads: Int, n: Int, left: Int
  ) {
    let progress = Event<Double>("progress")
    let cancelled = Signal()
    let resized = Event<(Int, Int)>()
    var seen = 0  // a top-level variable belongs to the main actor
    let bag = HandlerBag()
    var reports: [SendReport] = []

    progress.addHandler { print("inline", $0) }.store(in: bag)
    progress.addHandler {
      print("async", $0)
      await Task.yield()
    }
    progress.addHandler(on: .main) { _ in seen += 1 }
    progress.addHandler(.named("background"), on: .background(.utility)) { print("background", $0) }
    progress.addHandler(on: .queue(DispatchQueue(label: "q"))) { print("queue", $0) }
    progress.addHandler(on: .concurrent(limit: 2)) { print("concurrent", $0) }
    progress.once { print("once", $0) }
    cancelled.addHandler { print("cancelled") }
    resized.addHandler { width, height in print("resized", width, height) }
    resized.addHandler(on: .main) { width, height in seen += width }

    progress.post(0.25)
    cancelled.post()
    resized.post((3, 4))
    reports.append(await progress.send(0.5))
    reports.append(await cancelled.send())
    reports.append(await resized.send((5, 6)))

    let model = Model(progress)
    model.bind()
    reports.append(await progress.send(0.75))
    await progress.withHandler(Handler { print("during", $0) }) { reports.append(await progress.send(1)) }
    await progress.withLocked(progress.addHandler { print($0) }) { reports.append(await progress.send(2)) }

    let tally = Tally()
    await tally.bind(progress)
    reports.append(await progress.send(3))
    let n = await tally.n
    progress.removeAll()
    return (reports, seen, model.fraction, model.loads, n, progress.handlerCount)
  }
}
