import EventingTransport
import Foundation
import Testing

/// The descriptions of receipts, incidents and errors, as a log shows them.
@Suite struct DescriptionTests {
  @Test func aReceiptSaysWhereTheMessageIs() {
    #expect("\(Receipt())" == "handed over")
    #expect("\(Receipt(position: 7))" == "stored at 7")
    #expect("\(Receipt(position: 7, isDuplicate: true))" == "stored at 7, a duplicate")
  }

  @Test func anIncidentSaysWhatHappenedWhere() {
    #expect("\(TransportIncident(kind: .lost, reason: "the server went"))" == "lost: the server went")
    #expect(
      "\(TransportIncident(kind: .refused, subject: "orders", reason: "no room"))" == "refused on orders: no room")
    let slow = TransportIncident(kind: .slowConsumer, subject: "ticks", reason: "too slow", dropped: 3)
    #expect("\(slow)" == "slowConsumer on ticks, 3 dropped: too slow")
    let dead = TransportIncident(
      kind: .deadLetter, subject: "ticks.a", event: "ticks.*", stream: "TICKS", messageID: "7",
      reason: "expected a number")
    #expect("\(dead)" == "deadLetter on ticks.a for ticks.* in the stream TICKS, message \"7\": expected a number")
    #expect("\(TransportIncident(kind: .init("moved"), reason: "to another server"))" == "moved: to another server")
  }

  /// Users switch over codes and log them, so each code needs a name of its own.
  @Test func eachKindHasANameOfItsOwn() {
    let codes: [TransportError.Code] = [
      .badSubject, .badGroup, .badHeader, .badOption, .tooLarge, .notEncodable, .notDecodable, .notPromised,
      .noResponders, .responderFailed, .timedOut, .mayBeStored, .refused, .closed, .streamDiffers, .alreadyListening,
    ]
    #expect(Set(codes).count == codes.count && Set(codes.map { "\($0)" }).count == codes.count)
    #expect(TransportError.Code("streamDiffers") == .streamDiffers && "\(TransportError.Code.closed)" == "closed")
    let kinds: [TransportIncident.Kind] = [.lost, .reconnected, .slowConsumer, .refused, .deadLetter]
    #expect(Set(kinds).count == kinds.count && Set(kinds.map { "\($0)" }).count == kinds.count)
    #expect("\(TransportError(.closed, "expected an open event"))" == "expected an open event")
  }

  @Test func alertsShowTheSentenceOfAnError() {
    for error in [
      TransportError(.closed, "expected an open event") as any Error, DecodingFailure("expected a number"),
    ] {
      #expect(error.localizedDescription == "\(error)")
    }
  }
}
