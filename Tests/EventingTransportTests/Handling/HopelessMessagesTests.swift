@testable import EventingTransport
import Testing

@Suite struct HopelessMessagesTests {
  @Test func theAttemptsOfAMessageThatIsNotRecordedAreItsDeliveries() {
    let messages = HopelessMessages()
    var message = RemoteMessage()
    var sum = 0
    for number in 1...65_536 {
      message.id = "\(number)"
      sum += messages.note(message, "")
    }
    #expect(sum == 65_536)
    #expect(messages.note(message, "") == 2)
    message.id = "one too many"
    #expect(messages.note(message, "") == 1)
    message.attempt = 7
    #expect(messages.note(message, "") == 7)
    #expect(messages.entry(for: message) == nil)
  }
}
