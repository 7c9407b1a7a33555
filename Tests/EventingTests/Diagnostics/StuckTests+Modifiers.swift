import Eventing
import EventingDiagnostics
import Testing

/// Tests that the report of a stuck call names the sends and barriers that wait for the call, if
/// the handler has modifiers or is on a shared lane.
extension StuckTests {
  /// The kinds of handlers whose calls the wait graph represents by other nodes than the lane.
  enum Modified: CaseIterable {
    case retried, retriedOnAQueue, timedOut, batch, key, keyedBatch, paced

    /// Returns a handler whose calls open the gate `begun`, and then wait until `gate` is open.
    func handler(_ begun: Gate, _ gate: Gate) -> Handler<Int> {
      let body: @Sendable (Int) async throws -> Void = { _ in
        begun.open()
        await gate.opened()
      }
      let handler = Handler(perform: body)
      switch self {
      case .retried: return handler.with(.retrying(.immediately(attempts: 2)))
      case .retriedOnAQueue:
        let blocking = Handler<Int>(on: .background) { _ in
          begun.open()
          gate.wait()
        }
        return blocking.with(.retrying(.immediately(attempts: 2)))
      case .timedOut: return handler.with(.timingOut(after: .seconds(3_600)))
      case .batch: return Handler { batch in try await body(batch[0]) }.batched(of: 1)
      case .key: return Handler(.inOrder { _ in 0 }, on: .concurrent(limit: 2), perform: body)
      case .keyedBatch:
        return Handler(on: .concurrent(limit: 2)) { batch in try await body(batch[0])
        }.batched(of: 1, by: { _ in 0 })
      case .paced: return handler.with(.debounced(for: .zero))
      }
    }
  }

  @Test(arguments: Modified.allCases) func waitsForAHandlerWithModifiersAreNamed(kind: Modified) async {
    let (event, watch, begun, gate) = (Event<Int>("orders"), Watch(), Gate(), Gate())
    event.observe(with: watch.diagnostics)
    event.add(kind.handler(begun, gate))
    let first = Task { await event.send(1) }
    await begun.opened()
    let second = Task.immediate { await event.send(2) }
    let quiesced = Task.immediate { await event.quiesce() }
    // Another thread may still have to deliver the second occurrence. The isolated call `handlers`
    // returns after that delivery.
    while await event.handlers()[0].waitingCount < 1, kind != .paced { await Task.yield() }
    watch.look(3)
    #expect(watch.stuck.count == 1)
    let waiting = Set(watch.stuck.first?.waits.map(\.sequence) ?? [])
    #expect(waiting.contains(1) && waiting.contains(2))
    #expect(watch.stuck.first?.laneWaitingCount == nil)
    gate.open()
    #expect(await first.value.delivered == 1)
    #expect(await second.value.delivered == 1)
    await quiesced.value
  }

  @Test(arguments: [false, true]) func waitsOfOtherHandlersOnASharedLaneAreNamed(hasModifiers: Bool) async {
    let (orders, payments, other) = (Event<Int>("orders"), Event<Int>("payments"), Event<Int>("other"))
    let (watch, begun, gate, lane) = (Watch(), Gate(), Gate(), HandlerLane("database"))
    for event in [orders, payments, other] { event.observe(with: watch.diagnostics) }
    let handler = Handler<Int>(on: .lane(lane)) { _ in
      begun.open()
      await gate.opened()
    }
    orders.add(hasModifiers ? handler.with(.retrying(.immediately(attempts: 2))) : handler)
    payments.addHandler(on: .lane(lane)) { _ in }
    let freely = Gate()
    other.addHandler { _ in await freely.opened() }
    let first = Task { await orders.send(1) }
    await begun.opened()
    let second = Task.immediate { await payments.send(1) }
    let free = Task.immediate { await other.send(1) }
    while await payments.handlers()[0].waitingCount < 1 { await Task.yield() }
    watch.look(3)
    let finding = watch.stuck.first { $0.event == "orders" }
    let waiting = Set(finding?.waits.map(\.event) ?? [])
    #expect(waiting == [orders.identity, payments.identity])
    #expect(finding?.waitingCount == 0)
    #expect(finding?.laneName == "database" && finding?.laneWaitingCount == 1)
    #expect(finding.map { "\($0)".contains(", 1 waiting on the lane \"database\"; waiting for it: ") } == true)
    gate.open()
    freely.open()
    #expect(await first.value.delivered == 1)
    #expect(await second.value.delivered == 1)
    #expect(await free.value.delivered == 1)
  }
}
