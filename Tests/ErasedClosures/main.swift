// Calls closures without knowledge of their payload type, with payloads of every shape. The script
// `check` compiles and runs this program with every relevant combination of options.

/// The number of failed expectations.
nonisolated(unsafe) var mistakes = 0

func expect(_ isTrue: Bool, _ what: @autoclosure () -> String) {
  guard !isTrue else { return }
  print("expected \(what())")
  mistakes += 1
}

struct Refusal: Error { let number: Int }

final class Seen: @unchecked Sendable {
  var numbers: [Int] = []
  func see(_ payload: some TestPayload) { numbers.append(payload.number) }
  func take() -> [Int] {
    defer { numbers = [] }
    return numbers
  }
}

/// Calls the unspecialised version of `check`: opening an existential hides the type from the
/// compiler.
func checkOpened(_ shape: any TestPayload.Type) async { await check(shape) }

@inline(never) func check<Payload: TestPayload>(_: Payload.Type) async {
  let live = LiveCount()
  do {
    let seen = Seen()
    await checkCalls(
      Payload.self, live, seen, HandlerClosure<Payload> { seen.see($0) }.erased,
      AsyncHandlerClosure<Payload> { seen.see($0) }.erased,
      ViewClosure<Payload> { payload in
        seen.see(payload)
        return payload.number > 2
      }.erased)
    let throwing = HandlerClosure<Payload> { throw Refusal(number: $0.number) }.erased
    let refusing = AsyncHandlerClosure<Payload> { payload in
      await Task.yield()
      throw Refusal(number: payload.number)
    }.erased
    let payload = Payload.make(3, live)
    do {
      try lend(payload) { try throwing($0) }
      expect(false, "an error of \(Payload.self)")
    } catch { expect((error as? Refusal)?.number == payload.number, "the error of \(Payload.self), got \(error)") }
    do {
      try await lendAcross(payload) { try await refusing($0, on: nil) }
      expect(false, "an error of an asynchronous \(Payload.self)")
    } catch {
      expect(
        (error as? Refusal)?.number == payload.number, "the error of an asynchronous \(Payload.self), got \(error)")
    }
  }
  expect(live.alive == 0, "no \(Payload.self) alive, got \(live.alive)")
}

/// Calls the closures as the library does, without knowledge of the payload type. The type
/// parameter `Payload` is not for these calls. The function uses it to create the payloads, to
/// create the closure `nested`, and to name the type in the texts of failures.
@inline(never) func checkCalls<Payload: TestPayload>(
  _: Payload.Type, _ live: LiveCount, _ seen: Seen, _ handler: ErasedHandler, _ asynchronous: ErasedAsyncHandler,
  _ view: ErasedView
) async {
  let numbers = [1, 2, 3, 4]
  let expected = numbers.map { Payload.make($0, live).number }
  for number in numbers { try? lend(Payload.make(number, live)) { try handler($0) } }
  expect(seen.numbers == expected, "\(expected) of \(Payload.self), got \(seen.take())")
  seen.numbers = []
  for number in numbers { try? await lendAcross(Payload.make(number, live)) { try await asynchronous($0, on: nil) } }
  expect(seen.numbers == expected, "\(expected) of an asynchronous \(Payload.self), got \(seen.numbers)")
  seen.numbers = []
  var shown: [Bool?] = []
  for number in numbers { shown.append(try? lend(Payload.make(number, live)) { try view($0) }) }
  expect(shown == expected.map { $0 > 2 }, "a view of \(Payload.self), got \(shown)")
  seen.numbers = []
  let nested = ErasedHandler.of({ payload in try handler(payload) }, Payload.self)
  for number in numbers { try? lend(Payload.make(number, live)) { try nested($0) } }
  expect(seen.numbers == expected, "\(expected) of a nested \(Payload.self), got \(seen.numbers)")
  for number in numbers { try? lend(Payload.make(number, live)) { try ErasedHandler.none($0) } }
}

/// Lends a payload to an asynchronous function.
@inline(never) func lendAcross<Payload: Sendable>(_ payload: Payload, _ body: (BorrowedPayload) async throws -> Void)
  async throws
{
  let address = UnsafeMutablePointer<Payload>.allocate(capacity: 1)
  address.initialize(to: payload)
  defer {
    address.deinitialize(count: 1)
    address.deallocate()
  }
  try await body(BorrowedPayload(UnsafePointer(address)))
}

// Calls `check` as code that uses the library does: here the compiler knows the payload types. In
// `checkOpened`, it does not.
await check(Nothing.self)
await check(OneByte.self)
await check(Int.self)
await check(EightBytes.self)
await check(ThreeWords.self)
await check(Large.self)
await check(Aligned.self)
await check(Reference.self)
await check(Mixed.self)
await check(Choice.self)
await check(Boxed.self)
await check(Weak.self)

let shapes: [any TestPayload.Type] = [
  Nothing.self, OneByte.self, Int.self, EightBytes.self, ThreeWords.self, Large.self, Aligned.self, Reference.self,
  Mixed.self, Choice.self,
  Boxed.self, Weak.self,
]
for shape in shapes { await checkOpened(shape) }

if mistakes > 0 { fatalError("\(mistakes) mistakes") }
print("\(shapes.count) shapes of payloads: all closures got what they should")
