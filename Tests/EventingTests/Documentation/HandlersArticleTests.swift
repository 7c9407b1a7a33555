import Eventing
import Testing

/// Runs the examples of the article "Adding handlers".
@Suite(.fewAtATime) struct HandlersArticleTests {
  final class Controller: Sendable {
    let logged = Recorder<String>()
    func update(_ fraction: Double) { logged.record("\(fraction)") }
    func log(_ fraction: Double, _ disk: String, _ line: Int) { logged.record("\(fraction) \(disk) \(line)") }
  }
  actor Account {
    var total = 0.0
    func add(_ fraction: Double) throws { total += fraction }
  }

  @Test func severalValuesOrNone() async {
    let resized = Event<(Int, Int)>()
    resized.addHandler { width, height in print(width, height) }
    resized.post((3, 4))
    let cancelled = Signal()
    cancelled.addHandler { print("cancelled") }
    cancelled.post()

    #expect(await resized.send((1, 2)).delivered == 1)
    #expect(await cancelled.send().delivered == 1)
  }

  // swift-format-ignore
  @Test func methods() async {
    let (progress, controller) = (Event<Double>(), Controller())

    progress.addHandler(owner: controller) { $0.update($1) }           // func update(_: Double)
    progress.addHandler(owner: controller) { $0.log($1, "disk", 3) }   // func log(_: Double, _: String, _: Int)

    #expect(await progress.send(0.5).delivered == 2)
    #expect(controller.logged.values == ["0.5", "0.5 disk 3"])
  }

  // swift-format-ignore
  @Test func actors() async {
    let (progress, account) = (Event<Double>(), Account())

    progress.addHandler(isolatedTo: account) { account, fraction in account.total += fraction }

    await progress.send(0.5)
    await progress.send(0.25)
    #expect(await account.total == 0.75)

    progress.addHandler(
      .retrying(.exponential(from: .milliseconds(100), to: .seconds(30), attempts: 5)), isolatedTo: account
    ) { account, fraction in try account.add(fraction) }

    await progress.send(1)
    #expect(await account.total == 2.75)
  }

  @Test func handlersAsValues() async {
    let progress = Event<Double>()

    let audit = Handler<Double>(.named("audit"), .tagged("io"), on: .background) { fraction in print(fraction) }
    progress.add(audit, Handler(.once) { fraction in print("first", fraction) })

    #expect(await progress.send(0.5).delivered == 2)
    #expect(progress.contains(where: .named("audit")) && progress.handlerCount == 1)
  }

  @Test func interceptors() async {
    final class View: Sendable { let scale = 0.5 }
    let (progress, seen, view) = (Event<Double>(), Recorder<Double>(), View())
    progress.addHandler { seen.record($0) }

    progress.intercept(.priority(10)) { fraction in fraction > 1 ? .stop : .proceed }
    progress.intercept(.priority(9), owner: view) { view, fraction in .proceed(with: fraction * view.scale) }

    #expect(await progress.send(0.5).delivered == 3)
    #expect(await progress.send(2).skipped == 2)
    #expect(seen.values == [0.25])
    withExtendedLifetime(view) {}
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "HandlersArticleTests")
    let code = try Documentation.examples(Documentation.article("Handlers.md"))
    #expect(code.count == 6)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in HandlersArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
