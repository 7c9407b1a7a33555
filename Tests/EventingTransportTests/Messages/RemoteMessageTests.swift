import EventingTransport
import Foundation
import Testing

/// Messages are values, although copies share their contents.
@Suite struct RemoteMessageTests {
  @Test func aChangeOfACopyLeavesTheOriginal() {
    let original = RemoteMessage(id: "1", subject: "orders", headers: ["a": "1"], body: [1], publishedAt: .distantPast)
    var copy = original
    copy.id = "2"
    copy.subject = "refunds"
    copy.headers["a"] = "2"
    copy.body.append(2)
    copy.attempt = 2
    copy.position = 7
    copy.streamMark = "x"
    copy.damage = "cut"
    copy.publishedAt = .distantFuture
    #expect(original.id == "1" && copy.id == "2")
    #expect(original.subject == "orders" && copy.subject == "refunds")
    #expect(original.headers == ["a": "1"] && copy.headers == ["a": "2"])
    #expect(original.body == [1] && copy.body == [1, 2])
    #expect(original.attempt == 1 && copy.attempt == 2)
    #expect(original.position == nil && copy.position == 7)
    #expect(original.streamMark.isEmpty && copy.streamMark == "x")
    #expect(original.damage == nil && copy.damage == "cut")
    #expect(original.publishedAt == .distantPast && copy.publishedAt == .distantFuture)
  }

  @Test func anIDIsOwnOnceItIsGivenOrSet() {
    var message = RemoteMessage()
    let made = message
    #expect(!message.hasOwnID && !message.id.isEmpty)
    message.id = "1"
    #expect(message.hasOwnID && !made.hasOwnID)
    #expect(RemoteMessage(id: "1").hasOwnID)
  }

  @Test func madeIDsAreUniqueAndCanBeSent() throws {
    let ids = (0..<2_000).map { _ in RemoteMessage().id }
    #expect(Set(ids).count == ids.count)
    #expect(ids.allSatisfy { $0.utf8.count <= 60 && $0.utf8.allSatisfy { (33...126).contains($0) } })
  }

  /// Two spellings of one character are equal for Swift, and not for engines.
  @Test(arguments: ["", "a", "orders.placed", "caf\u{e9}", "cafe\u{301}", String(repeating: "x", count: 100)])
  func textsAreComparedByBytes(text: String) {
    for other in ["", "a", "b", "orders.placed", "caf\u{e9}", "cafe\u{301}", String(repeating: "x", count: 100)] {
      #expect(text.hasBytes(of: other) == Array(text.utf8).elementsEqual(Array(other.utf8)))
    }
    #expect((text + "y").dropLast().description.hasBytes(of: text))
  }
}
