import Eventing
import Testing

/// Runs the examples of the article "Views".
@Suite(.fewAtATime) struct ViewsArticleTests {
  // swift-format-ignore
  @Test func viewsConvertPayloads() async {
    let heard = Recorder<String>()
    @Sendable func show(_ fahrenheit: Int) { heard.record("\(fahrenheit) F") }
    @MainActor func alert(_ warning: String) { heard.record(warning) }

    let reading = Event<Int>("reading")
    reading.map { celsius in celsius * 9 / 5 + 32 }.addHandler { fahrenheit in show(fahrenheit) }
    reading.compactMap { celsius in celsius > 40 ? "hot: \(celsius)" : nil }.addHandler(on: .main) { warning in alert(warning) }
    reading.filter { celsius in celsius < 0 }.once { celsius in print("first frost", celsius) }
    reading.signal.addHandler { print("something was read") }

    let warm = await reading.send(10)
    #expect(warm.delivered == 2 && warm.skipped == 2)
    let cold = await reading.send(-10)
    #expect(cold.delivered == 3 && cold.skipped == 1)
    await reading.send(50)
    #expect(heard.values == ["50 F", "14 F", "122 F", "hot: 50"])
    #expect(reading.handlerCount == 3)
  }

  @Test func modifiersBehindAView() async {
    let (reading, shown) = (Event<Int>("reading"), Recorder<String>())
    @Sendable func show(_ text: String) { shown.record(text) }
    // swift-format-ignore
    reading.map { celsius in "\(celsius) °C" }.addHandler(.debounced(for: .milliseconds(300))) { text in show(text) }
    for celsius in [20, 21] { reading.post(celsius) }
    await reading.quiesce()
    #expect(shown.values == ["21 °C"])
  }

  // swift-format-ignore
  @Test func sourceAndOccurrences() async {
    let progress = Event<Double>()

    let source: any EventSource<Double> = progress.source
    progress.occurrences.addHandler { occurrence in print(occurrence.sequence, occurrence.instant, occurrence.payload) }

    source.addHandler { _ in }
    #expect(await progress.send(0.5).delivered == 2)
  }

  @Test func severalSources() async {
    let (reading, forecast, outside) = (Event<Int>(), Event<Int>(), Observed(5))
    let shown = Recorder<String>()
    @Sendable func show(_ text: String) { shown.record(text) }

    // swift-format-ignore
    let token = reading.merge(forecast, outside).addHandler { celsius in show("\(celsius)") }

    await reading.send(1)
    await forecast.send(2)
    outside.value = 3
    #expect(shown.values == ["5", "1", "2", "3"])
    #expect(token.remove() && reading.handlerCount == 0)
  }

  // swift-format-ignore
  @MainActor @Test func severalValues() async {
    let shown = Recorder<String>()
    @Sendable func show(_ name: String) { shown.record(name) }
    var title = ""

    let (first, last) = (Observed("Ada"), Observed("King"))
    first.combineLatest(last).addHandler { first, last in show(first + " " + last) }   // Ada King
    last.value = "Lovelace"                                                             // Ada Lovelace
    first.combineLatest(last).removeDuplicates(by: ==).addHandler(on: .main) { first, last in title = first + last }

    await last.quiesce()
    #expect(shown.values == ["Ada King", "Ada Lovelace"] && title == "AdaLovelace")
  }

  @Test func keysAndObservedValuesHaveViews() {
    let heard = Recorder<String>()
    let moved = KeyedEvent<String, Int>()
    moved["ada"].filter { $0 > 1 }.map { -$0 }.addHandler { heard.record("\($0)") }
    moved.post(1, to: "ada")
    moved.post(2, to: "ada")
    moved.post(3, to: "bob")

    let volume = Observed(1)
    volume.newValues.addHandler { heard.record("volume \($0)") }
    volume.value = 2
    #expect(heard.values == ["-2", "volume 2"])
  }

  @Test func aHandlerOfAViewKeepsItsPlaceAndItsVerbs() async {
    let heard = Recorder<String>()
    let reading = Event<Int>()
    reading.addHandler { _ in heard.record("first") }
    reading.map { "\($0)" }.addHandler(.named("view")) { heard.record($0) }
    reading.addHandler { _ in heard.record("last") }
    reading.post(7)
    #expect(heard.values == ["first", "7", "last"])
    #expect(reading.lockAll(where: .named("view")) == 1)
    #expect(await reading.send(8).skipped == 1)
    #expect(reading.removeAll(where: .named("view")) == 1)
  }

  @Test func aViewIsTheEventAndKeepsItAlive() async {
    let heard = Recorder<Int>()
    weak var event: Event<Int>?
    var views: [any EventSource<Int>] = []
    do {
      let reading = Event<Int>()
      event = reading
      let even = reading.map { $0 * 3 }.filter { $0.isMultiple(of: 2) }
      let token = even.addHandler { heard.record($0) }
      reading.post(1)
      reading.post(2)
      #expect(heard.values == [6])
      #expect(reading.lock(token))
      views = [even]
    }
    #expect(event != nil)
    views = []
    #expect(event == nil)
    _ = views
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "ViewsArticleTests")
    let code = try Documentation.examples(Documentation.article("Views.md"))
    #expect(code.count == 5)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in ViewsArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
