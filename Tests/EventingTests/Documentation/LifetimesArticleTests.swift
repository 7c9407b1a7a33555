import Eventing
import Testing

/// Runs the examples of the article "Lifetimes and locks".
@Suite(.fewAtATime) struct LifetimesArticleTests {
  final class Controller: Sendable {
    let updates = Recorder<Double>()
    func update(_ fraction: Double) { updates.record(fraction) }
  }
  struct Order: Sendable { var id = 1 }

  // swift-format-ignore
  @Test func removing() async {
    let progress = Event<Double>()

    let disk = progress.addHandler(.named("disk")) { fraction in print(fraction) }
    progress.remove(disk)                        // from now on, no thread decides to call disk
    await progress.quiesce()                     // waits until no call of disk is running

    #expect(!progress.contains(disk) && progress.handlerCount == 0)
    #expect(await progress.send(0.5).reachedNobody)
  }

  @Test func owners() async {
    let progress = Event<Double>()
    var controller = Controller()
    let updates = controller.updates

    progress.addHandler(owner: controller) { controller, fraction in controller.update(fraction) }

    await progress.send(0.5)
    withExtendedLifetime(controller) {}
    controller = Controller()
    await progress.send(0.25)
    #expect(updates.values == [0.5])
    #expect(controller.updates.values.isEmpty)
  }

  @Test func once() async {
    let progress = Event<Double>()

    progress.once { fraction in print("first", fraction) }

    #expect(await progress.send(0.5).delivered == 1)
    #expect(await progress.send(0.25).reachedNobody)
  }

  @Test func scopesAndBags() async throws {
    let progress = Event<Double>()
    @Sendable func work() async throws { #expect(progress.handlerCount == 1) }

    try await progress.withHandler(Handler { fraction in print(fraction) }) { try await work() }
    let bag = HandlerBag()
    progress.addHandler { fraction in print(fraction) }.store(in: bag)

    #expect(progress.handlerCount == 1)
    #expect(bag.removeAll() == 1)
    #expect(progress.handlerCount == 0)
  }

  // swift-format-ignore
  @Test func locks() async {
    let progress = Event<Double>()
    let disk = progress.addHandler(.tagged("io")) { _ in }

    progress.lock(disk)                          // until unlock(disk)
    progress.lockAll(where: .tagged("io"))                  // every handler with that tag; also by name and by owner
    await progress.withLocked(disk) { print("silent") }
    progress.lock()                              // the event itself: later handlers too, until unlock()

    progress.addHandler { _ in }
    #expect(progress.isLocked(disk) && progress.isLocked)
    #expect(await progress.send(0.5).skipped == 2)
    progress.unlock()
    #expect(await progress.send(0.5).skipped == 1)
    progress.unlock(disk)
    #expect(!progress.isLocked(disk) && !progress.isLocked)
  }

  // swift-format-ignore
  @Test func locksThatHold() async {
    let (orders, order, seen) = (Event<Order>(), Order(), Recorder<Int>())
    let audit = orders.addHandler { seen.record($0.id) }
    let states = Recorder<[Int]>()
    orders.addHandler { _ in states.record(seen.values) }

    orders.lock(audit, holding: .oldest(100))                    // holds up to 100 occurrences; .latest holds only one
    orders.post(order)                                           // does not call audit yet
    orders.unlock(audit)                                         // calls audit now, before any newer occurrence

    #expect(states.values == [[]] && seen.values == [1])
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "LifetimesArticleTests")
    let code = try Documentation.examples(Documentation.article("Lifetimes.md"))
    #expect(code.count == 6)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in LifetimesArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
