import Eventing
import Testing

/// The examples of the README, word for word: `everyExampleIsRunHere` compares them with the README itself.
@Suite(.fewAtATime, .timeLimit(.minutes(30))) struct ReadmeTests {
  // swift-format-ignore
  @Test func firstExampleReportsFourDeliveries() async {
    let progress = Event<Double>("progress")

    progress.addHandler { fraction in print("inline", fraction) }
    progress.addHandler(on: .main) { fraction in print("on the main actor", fraction) }
    progress.addHandler { fraction async in print("asynchronously, in order", fraction) }
    let disk = progress.addHandler(named: "disk", on: .background(.utility)) { fraction in print("on a queue", fraction) }

    progress.post(0.25)                          // does not wait
    let report = await progress.send(0.5)        // every handler has finished
    print(report)                                // #2: 4 delivered, 0 skipped, 0 dropped, 0 deferred, 0 failed
    progress.remove(disk)                        // no call of it begins from now on
    await progress.quiesce()                     // nothing is running any more

    #expect(report.description == "#2: 4 delivered, 0 skipped, 0 dropped, 0 deferred, 0 failed")
    #expect(progress.handlerCount == 3)
  }

  final class Controller: Sendable {
    let logged = Recorder<String>()
    func update(_ fraction: Double) {}
    func log(_ fraction: Double, _ disk: String, _ line: Int) { logged.record("\(fraction) \(disk) \(line)") }
  }
  actor Account { var total = 0.0 }

  @Test func ownersActorsAndOnce() async {
    let progress = Event<Double>()
    let controller = Controller()
    let account = Account()

    // Ends with its owner, which is Sendable and held weakly; runs on an actor; runs once.
    progress.addHandler(owner: controller) { controller, fraction in controller.update(fraction) }
    progress.addHandler(isolatedTo: account) { account, fraction in account.total += fraction }
    progress.once { fraction in print("first", fraction) }

    await progress.send(0.5)
    await progress.send(0.25)
    #expect(await account.total == 0.75)
    #expect(progress.handlerCount == 2)
    withExtendedLifetime(controller) {}
  }

  @Test func severalValuesOrNone() async {
    // Several values, or none.
    let resized = Event<(Int, Int)>()
    resized.addHandler { width, height in print(width, height) }
    resized.post(3, 4)
    let cancelled = Signal()
    cancelled.addHandler { print("cancelled") }
    cancelled.post()

    #expect(await resized.send(1, 2).delivered == 1)
    #expect(await cancelled.send().delivered == 1)
  }

  // swift-format-ignore
  @Test func lifetimesAndLooking() async throws {
    let progress = Event<Double>()
    let disk = progress.addHandler { _ in }
    @Sendable func work() async throws {}

    // For the length of a closure; held by a bag; as a value.
    try await progress.withHandler({ fraction in print(fraction) }) { try await work() }
    let bag = HandlerBag()
    progress.addHandler { fraction in print(fraction) }.store(in: bag)
    progress.add(Handler(on: .background) { fraction in print(fraction) }.named("audit").tagged("io").once())

    // Silence, and look.
    progress.lock(tagged: "io")
    await progress.withLocked(disk) { print("silent") }
    progress.lock(disk, holding: .latest)                       // keeps the latest for the unlock
    for handler in await progress.handlers { print(handler) }   // … audit on background(utility), locked, once, 0 calls

    let lines = await progress.handlers.map(\.description)
    #expect(lines.last == "audit on background(utility), locked, once, 0 calls")
    #expect(bag.removeAll() == 1)
  }

  @Test func viewsTicketsAndErrors() async throws {
    let progress = Event<Double>()
    let controller = Controller()

    // To listen only; the whole occurrence; a ticket; what handlers threw.
    let source: any EventSource<Double> = progress.source
    progress.occurrences.addHandler { occurrence in print(occurrence.sequence, occurrence.instant, occurrence.payload) }
    let ticket = progress.submit(0.75, from: controller)
    try await ticket.report.throwIfFailed()

    source.addHandler { _ in }
    #expect(progress.handlerCount == 2)
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "ReadmeTests")
    let code = try Documentation.examples(Documentation.readme).filter { $0.first?.hasPrefix(".package") != true }
    #expect(code.count >= 12)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in ReadmeTests.swift as it stands in the README: \(example.first ?? "")")
    }
  }
}
