@testable import EventingTransport
import Testing

@Suite struct HopelessMessagesTests {
  @Test func theAttemptsOfAMessageThatIsNotRecordedAreItsDeliveries() {
    let messages = HopelessMessages()
    var message = RemoteMessage()
    var sum = 0
    for number in 1...65_536 {
      message.id = "\(number)"
      sum += messages.note(message, "", nil)
    }
    #expect(sum == 65_536)
    #expect(messages.note(message, "", nil) == 2)
    message.id = "one too many"
    #expect(messages.note(message, "", nil) == 1)
    message.attempt = 7
    #expect(messages.note(message, "", nil) == 7)
    #expect(messages.entry(for: message) == nil)
  }
}
