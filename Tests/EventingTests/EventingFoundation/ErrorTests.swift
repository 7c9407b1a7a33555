import Eventing
import EventingFoundation
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct LocalizedErrorTests {
  @Test func theLocalizedDescriptionIsTheDescription() async {
    let event = Event<Int>("orders")
    event.finish()
    let error = await #expect(throws: EventingError.self) { try await event.next(within: .seconds(1)) }
    #expect(error?.description.isEmpty == false)
    #expect(error?.localizedDescription == error?.description)
  }
}
