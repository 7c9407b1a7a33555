extension Harness {
  /// Measures sustained delivery to one handler that runs elsewhere, until everything is delivered.
  ///
  /// Checks the number of payloads, their sum and their order.
  func measureLanes() async {
    let routes = await liveRoutes(in: .lanes) { sink, route in sink.counter(isConcurrent: route.isConcurrent) }
    let contestants = routes.map { route in
      var contestant = Contestant(route.peer, label: route.label) { count in
        let sink = route.sink
        sink.reset()
        var sample = await timed {
          await route.live.send.runOnOwnThread(Batch(cell: LiveRoute.noCell, first: 1, count: count))
          wait { sink.count == count }
        }
        if sink.count != count || sink.sum != payloadSum(first: 1, count: count) {
          sample.failure = "delivered \(sink.count), expected \(count); or the sum is wrong"
        } else if sink.disorder > 0 {
          sample.failure = "\(sink.disorder) out of order"
        }
        return sample
      } finish: {
        await route.live.close()
        return nil
      }
      contestant.maximum = 1 << 20
      return contestant
    }
    await interleave(.lanes, "one consumer", contestants, unit: "ns/delivery", milliseconds: 20)
  }
}
