import Eventing
import Testing

/// Tests payloads of every shape (type and size), on every ``PayloadPath``. Each payload must
/// arrive unchanged, and must be destroyed once.
@Suite(.fewAtATime) struct PayloadPathTests {
  static let shapes: [any TestPayload.Type] = [
    Nothing.self, OneByte.self, Int.self, EightBytes.self, ThreeWords.self, Large.self, Aligned.self, Reference.self,
    Mixed.self,
    Choice.self,
    Boxed.self, Weak.self,
  ]

  @Test(arguments: Path.allCases) func everyPayloadArrivesAndIsDestroyedOnce(_ path: Path) async {
    await travel(path)
  }

  @Test(arguments: PlacePath.allCases) func everyPayloadOfAPlaceArrivesAndIsDestroyedOnce(_ path: PlacePath) async {
    await travel(path)
  }

  @Test(arguments: LanePath.allCases) func everyPayloadThatWaitsOnALaneIsDestroyedOnce(_ path: LanePath) async {
    await travel(path)
  }

  private func travel(_ path: some PayloadPath) async {
    for shape in Self.shapes { await travel(path, shape) }
    // The payload type itself is an existential, or a function type.
    await check(path, Travel<any TestPayload>({ Boxed.make($0, $1).value }, { $0.number }))
    await check(
      path,
      Travel<@Sendable () -> Int>(
        { number, live in
          let canary = Canary(live)
          return {
            canary.sing()
            return number
          }
        }, { $0() }))
  }

  private func travel<Payload: TestPayload>(_ path: some PayloadPath, _: Payload.Type) async {
    await check(path, Travel<Payload>({ Payload.make($0, $1) }, { $0.number }))
  }

  private func check<Payload: Sendable>(_ path: some PayloadPath, _ travel: Travel<Payload>) async {
    await path.run(travel)
    let (live, seen) = (travel.live, travel.seen)
    #expect(await eventually { live.alive == 0 }, "\(Payload.self): \(live.alive) are alive")
    // A payload of no bytes carries no number.
    let numbers = Payload.self == Nothing.self ? 0...0 : 1...payloadCount
    if let wrong = seen.values.first(where: { !numbers.contains($0) }) {
      Issue.record("\(Payload.self): got \(wrong), which was not sent")
    }
    guard let expected = path.expected else { return }
    #expect(seen.count == expected.count, "\(Payload.self)")
    if Payload.self != Nothing.self { #expect(seen.values.sorted() == expected, "\(Payload.self)") }
  }
}

/// The number of payloads that a ``PayloadPath`` sends.
let payloadCount = 20

/// A way to send payloads through an event, such as on a lane, through a view, to a sequence, or
/// after a delay. A test runs it once for each type of payload.
protocol PayloadPath: CaseIterable, Sendable {
  /// The numbers of the payloads that arrive; `nil` if the numbers are not certain.
  var expected: [Int]? { get }

  func run<Payload: Sendable>(_ travel: Travel<Payload>) async
}

/// Makes the payloads for one run of a ``PayloadPath``, and records the ones that arrive.
struct Travel<Payload: Sendable>: Sendable {
  let live = LiveCount()
  let seen = Recorder<Int>()
  /// Returns the number of a payload.
  let number: @Sendable (Payload) -> Int
  private let making: @Sendable (Int, LiveCount) -> Payload

  init(_ making: @escaping @Sendable (Int, LiveCount) -> Payload, _ number: @escaping @Sendable (Payload) -> Int) {
    self.making = making
    self.number = number
  }

  func make(_ number: Int) -> Payload { making(number, live) }
  func see(_ payload: Payload) { seen.record(number(payload)) }

  func post(to event: Event<Payload>, _ numbers: ClosedRange<Int> = 1...payloadCount) {
    for number in numbers { event.post(make(number)) }
  }
}
