import Eventing

final class RecordingSink: TraceSink {
  /// Returns the JSON values to write: `payload`, and for a keyed event also `key`.
  typealias Encode = @Sendable (TracedPayload) throws -> KeyValuePairs<String, [UInt8]>

  /// As a JSON string.
  private let name: String
  private let journal: Journal
  private let encode: Encode

  init(_ name: String, _ journal: Journal, _ encode: @escaping Encode) {
    self.name = JSONFragment.text(name)
    self.journal = journal
    self.encode = encode
  }

  func began(_ occurrence: TracedOccurrence, payload: TracedPayload) {
    guard let place = journal.begin(occurrence) else { return }
    do {
      journal.write(place.line(of: name, occurrence.sequence, try encode(payload)), at: place)
    } catch { journal.fail(at: place, error) }
  }

  func began(_ call: TracedCall, of handler: TracedHandler) { journal.began(call) }

  func ended(event: EventIdentity, sequence: UInt64) {}
  func ended(_ call: TracedCall, of handler: TracedHandler, _ end: TracedEnd) {}
  func withdrew(_ call: TracedCall, of handler: TracedHandler) {}
  func noCall(_ reason: TracedNoCall, handler: TracedHandler, event: EventIdentity, sequence: UInt64) {}
}
