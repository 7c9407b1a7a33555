import Eventing
import Testing

/// Recipes about read-only values, several events, the last payloads and cancelled calls.
extension CookbookGuideTests {
  // swift-format-ignore
  final class Player: Sendable {
    private let state = Observed(0.5)
    var volume: Double { state.value }
    var volumes: some EventSource<Double> { state }
    func mute() { state.value = 0 }
  }

  @Test func readingOnly() {
    let (player, seen) = (Player(), Recorder<Double>())
    player.volumes.addHandler { volume in seen.record(volume) }
    player.mute()
    #expect(player.volume == 0 && seen.values == [0.5, 0])
    withExtendedLifetime(player) {}
  }

  @Test func quiet() async {
    let (orders, refunds, seen) = (Event<Order>("orders"), Event<Order>("refunds"), Recorder<String>())
    for (event, name) in [(orders, "order"), (refunds, "refund")] {
      event.addHandler { _ async in
        await Task.yield()
        seen.record(name)
      }
    }
    orders.post(Order())
    refunds.post(Order())

    for event in [orders, refunds] { await event.quiesce() }

    #expect(seen.values.sorted() == ["order", "refund"])
  }

  @Test func lastPayloads() {
    let orders = Event<Order>("orders")

    let recent = Observed<[Order]>([])
    orders.addHandler { order in recent.update { list in list = (list + [order]).suffix(3) } }

    for id in 1...5 { orders.post(Order(id: id)) }
    #expect(recent.value.map(\.id) == [3, 4, 5])
  }

  // swift-format-ignore
  @Test func cancelling() async {
    let (queries, began, ended) = (Event<String?>("queries"), Gate(), Recorder<String>())
    @Sendable func show(_ text: String) async { ended.record(text) }
    @Sendable func find(_ text: String) async throws -> String {
      began.open()
      do { try await Task.sleep(for: .seconds(1_000)) } catch { ended.record("cancelled"); throw error }
      return text
    }

    queries.addHandler(.cancellingPrevious) { text in
      guard let text else { return }
      try await show(find(text))
    }
    queries.post("tea")
    queries.post(nil)   // cancels the search for tea

    await queries.quiesce()
    #expect(ended.values.allSatisfy { $0 == "cancelled" })  // or the search for tea never began
    let before = ended.values.count
    queries.post("coffee")
    await began.opened()
    queries.post(nil)
    await queries.quiesce()
    #expect(ended.values.count <= before + 1 && ended.values.allSatisfy { $0 == "cancelled" })
  }
}
