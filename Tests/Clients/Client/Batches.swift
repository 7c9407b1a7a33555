import Eventing

nonisolated struct Reading: Sendable { var sensor: String, value: Int }

func batches() async {
  let readings = Event<Reading>("readings")
  readings.batches(of: 2).addHandler { batch async in
    Log.shared.write("sum \(batch.reduce(0) { sum, reading in sum + reading.value })")
  }
  readings.batches(of: 10, by: \.sensor).addHandler(on: .main) { batch in
    Log.shared.write("\(batch.count) of \(batch[0].sensor)")
  }
  readings.lock()
  readings.unlock()
  await readings.send(Reading(sensor: "a", value: 1))
  expect(Log.shared.take().sorted(), ["1 of a", "sum 1"])
}
