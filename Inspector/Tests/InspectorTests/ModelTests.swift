import InspectorClient
import Testing

@Suite struct ModelTests {
  private func apply(_ texts: String...) throws -> AppModel {
    var model = AppModel()
    for text in texts { model.apply(try #require(try JSONSlice(Array(text.utf8)).members)) }
    return model
  }

  private func update(_ n: Int, _ t: Double, whole: Bool = false, _ parts: String, gone: String = "{}") -> String {
    #"{"push":"update","sub":1,"n":\#(n),"t":\#(Int(t * 1e9)),"whole":\#(whole),"parts":\#(parts),"gone":\#(gone)}"#
  }

  @Test func aWholeUpdateInSeveralLinesForgetsOnce() throws {
    let model = try apply(
      update(1, 1, whole: true, #"{"events":[{"id":9,"sequence":0}]}"#),
      update(2, 2, whole: true, #"{"events":[{"id":1,"sequence":0}]}"#),
      update(2, 2, whole: true, #"{"events":[{"id":2,"sequence":0}],"warnings":[{"id":5}]}"#))
    #expect(Set(model.parts["events"]!.keys) == [.id(1), .id(2)])
    #expect(model.rows("warnings").count == 1)
  }

  @Test func theHistoryOfEventsThatAWholeUpdateDoesNotNameGoes() throws {
    var model = try apply(
      update(1, 1, whole: true, #"{"events":[{"id":1,"sequence":0},{"id":2,"sequence":0}]}"#),
      update(2, 2, #"{"events":[{"id":1,"sequence":5},{"id":2,"sequence":5}]}"#),
      update(3, 3, whole: true, #"{"events":[{"id":1,"sequence":6}]}"#),
      update(3, 3, whole: true, #"{"events":[{"id":3,"sequence":0}]}"#), update(4, 4, "{}"))
    #expect(model.history.counts(of: 1).reduce(0, +) == 6)
    #expect(model.history.counts(of: 2).isEmpty)
    #expect(!model.history.counts(of: 3).isEmpty)
    // However many events come and go, the model keeps the history of those of the last updates.
    for n in 5..<60 {
      let text = update(n, Double(n), whole: true, "{\"events\":[{\"id\":\(n),\"sequence\":1}]}")
      model.apply(try #require(try JSONSlice(Array(text.utf8)).members))
    }
    #expect((1..<60).filter { !model.history.counts(of: $0).isEmpty } == [58, 59])
  }

  @Test func rowsAreReplacedAndGo() throws {
    let edge = #"{"from":"event:1","to":"bus:1","kind":"bus","label":null,"count":COUNT}"#
    let model = try apply(
      update(
        1, 1, whole: true,
        "{\"events\":[{\"id\":1,\"sequence\":3},{\"id\":2,\"sequence\":3}],\"graph\":[\(edge.replacing("COUNT", with: "1"))]}"
      ),
      update(
        2, 2,
        "{\"events\":[{\"id\":1,\"sequence\":4,\"later\":[1]}],\"graph\":[\(edge.replacing("COUNT", with: "2"))]}",
        gone: #"{"events":[2]}"#))
    #expect(model.rows("events").count == 1)
    #expect(model.asUpdate.contains(#"{"id":1,"sequence":4,"later":[1]}"#))
    #expect(model.rows("graph").map { $0.members?["count"]?.int } == [2])
    var next = model
    next.apply(
      try #require(
        try JSONSlice(Array(update(3, 3, "{}", gone: "{\"graph\":[\(edge.replacing("COUNT", with: "2"))]}").utf8))
          .members))
    #expect(next.rows("graph").isEmpty)
  }

  @Test func whatCameBetweenUpdatesIsSpreadOverTheirTime() throws {
    // The 100 occurrences came between 1.5 s and 2.5 s: each of these two seconds gets half of
    // them.
    let model = try apply(
      update(1, 1.5, whole: true, #"{"events":[{"id":1,"sequence":1000}]}"#),
      update(2, 2.5, #"{"events":[{"id":1,"sequence":1100}]}"#))
    #expect(Array(model.history.counts(of: 1).suffix(3)) == [0, 50, 50])
    // Occurrences before the first update are not counted. The update at 9 s has no row of the
    // event, because nothing had changed since 1.5 s. So the 10 occurrences came between 9 s and
    // 9.5 s, and are not spread over the time from 1.5 s on.
    let later = try apply(
      update(1, 1.5, whole: true, #"{"events":[{"id":1,"sequence":1000}]}"#), update(2, 9, "{}"),
      update(3, 9.5, #"{"events":[{"id":1,"sequence":1010}]}"#))
    #expect(Array(later.history.counts(of: 1).suffix(3)) == [0, 0, 10])
    #expect(later.history.counts(of: 1).reduce(0, +) == 10)
  }

  @Test func whatWentAndCameBackInOneUpdateIsThere() throws {
    let model = try apply(
      update(1, 1, whole: true, #"{"events":[{"id":1,"sequence":0}]}"#),
      update(2, 2, #"{"events":[{"id":1,"sequence":4}]}"#, gone: #"{"events":[1]}"#))
    #expect(model.rows("events").count == 1)
  }

  @Test(arguments: ["9223372036854775807", "9007199254740993", "-9223372036854775808"])
  func numbersOutsideOfTheProtocolAreIgnored(number: String) throws {
    let model = try apply(
      #"{"push":"update","sub":1,"n":1,"t":\#(number),"whole":true,"parts":{"events":[{"id":1,"sequence":0}]},"gone":{}}"#,
      #"{"push":"update","sub":1,"n":2,"t":9007199254740992,"whole":false,"parts":{"events":[{"id":1,"sequence":\#(number)}]},"gone":{}}"#
    )
    #expect(model.history.counts(of: 1).allSatisfy { $0 >= 0 })
  }

  @Test func countsThatAlternateDoNotOverflow() throws {
    var model = AppModel()
    for number in 1...3_000 {
      let row = #"{"events":[{"id":1,"sequence":\#(number % 2 == 0 ? 0 : 9_007_199_254_740_992)}]}"#
      model.apply(try #require(try JSONSlice(Array(update(number, 1, whole: number == 1, row).utf8)).members))
    }
    #expect(model.history.counts(of: 1).allSatisfy { $0 >= 0 })
    _ = model.history.asJSON
  }

  @Test func twoMinutesAreKeptAndNoMore() throws {
    var history = History()
    history.advance(to: 1_000_000_000)
    history.add(0, of: 1)
    for second in 2...400 {
      history.advance(to: second * 1_000_000_000)
      history.add(second, of: 1)
    }
    #expect(history.counts(of: 1).count == 120)
    #expect(history.counts(of: 1).dropLast().allSatisfy { $0 == 1 })
    history.advance(to: 1_000_000_000_000)
    #expect(history.counts(of: 1).allSatisfy { $0 == 0 })
  }

  @Test func theTableHasNoControlCharactersAndFits() throws {
    let name = #"\u001b[2Jbad\u0007\u202e"#
    let model = try apply(
      update(
        1, 1, whole: true,
        #"{"events":[{"id":1,"name":"\#(name)","type":"T","sequence":5,"waiting":3,"handlers":2},{"id":2,"name":"warned","type":"T","sequence":5,"waiting":0,"handlers":0}],"warnings":[{"id":1,"code":"stuck","event":2,"sinceAt":1,"text":"\#(name) hangs"}]}"#
      ))
    for width in [20, 40, 80, 120, 200] {
      let lines = TopTable.lines(model, title: "shop\u{1b}[31m", width: width, height: 4)
      #expect(lines.count == 4)
      #expect(lines.allSatisfy { $0.count <= width })
      #expect(!lines.joined().unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202e })
    }
    let lines = TopTable.lines(model, title: "shop", width: 120, height: 50)
    #expect(lines[1].hasPrefix("! stuck: "))
    #expect(lines[3].hasPrefix("warned"))
  }

  @Test func theTableNamesTheEventThatFailuresBelongTo() throws {
    let model = try apply(
      update(
        1, 1, whole: true,
        #"{"events":[{"id":1,"name":"orders","type":"Int","of":null},{"id":2,"name":"failures","type":"HandlerFailure","of":1}]}"#
      ))
    let lines = TopTable.lines(model, title: "shop", width: 120, height: 50)
    #expect(lines[2].hasPrefix("orders "))
    #expect(lines[3].hasPrefix("failures of orders "))
  }
}
