import Eventing
import EventingFoundation
import Foundation
import Testing

extension Notification.Name {
  static let didSave = Notification.Name("ForwardingArticleTests.didSave")
  static let didProgress = Notification.Name("ForwardingArticleTests.didProgress")
}

/// Runs the examples of the article "Forwarding".
@Suite(.fewAtATime) struct ForwardingArticleTests {
  final class Document: Sendable {}

  @Test func transforms() async {
    let (progress, percent) = (Event<Double>(), Event<Int>())
    let percents = Recorder<Int>()
    percent.addHandler(on: .background) { percents.record($0) }  // `send` waits for it

    progress.compactMap { fraction in fraction < 0 ? nil : Int(fraction * 100) }.forward(to: percent)

    #expect(await progress.send(0.5).delivered == 1)
    #expect(await progress.send(-1).skipped == 1)
    #expect(percents.values == [50])
    #expect(progress.removeAll(where: .forwarding(to: percent)) == 1)
  }

  @Test func notifications() {
    let progress = Event<Double>()
    let document = Document()
    let seen = Recorder<String>()

    let saved = Event(notifications: .didSave, object: document)
    saved.addHandler { notification in print(notification) }
    progress.forward(to: .default, as: .didProgress) { fraction in ["fraction": fraction] }

    saved.addHandler { seen.record($0.name.rawValue) }
    NotificationCenter.default.post(name: .didSave, object: document)
    NotificationCenter.default.post(name: .didSave, object: nil)
    #expect(seen.values == ["ForwardingArticleTests.didSave"])

    let posted = Event(notifications: .didProgress)
    posted.addHandler { seen.record("\($0.userInfo?["fraction"] as? Double ?? 0)") }
    progress.post(0.5)
    #expect(seen.values == ["ForwardingArticleTests.didSave", "0.5"])
  }

  @Test func everyExampleIsRunHere() throws {
    let run = try Documentation.lines(ofTests: "ForwardingArticleTests")
    let code = try Documentation.examples(Documentation.article("Forwarding.md"))
    #expect(code.count == 2)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in ForwardingArticleTests.swift as it stands in the article: \(example.first ?? "")")
    }
  }
}
