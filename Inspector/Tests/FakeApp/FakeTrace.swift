/// The records that a trace of the scripted app sends.
enum FakeTrace {
  static func records(_ world: World, events: [Int], from start: Int) -> [Value] {
    var records: [Value] = [
      ["ph": "M", "name": "thread_name", "pid": 4711, "tid": 1, "args": ["name": "main thread"]],
      ["ph": "M", "name": "thread_name", "pid": 4711, "tid": 2, "args": ["name": "checkout, slot 1"]],
      ["ph": "M", "name": "thread_name", "pid": 4711, "tid": 3, "args": ["name": "<b>mail</b>, slot 1"]],
    ]
    let (from, to) = (start / 1_000, world.time / 1_000)
    var call = 0
    var last: Int?
    for time in stride(from: from, to: max(to, from + 1), by: 40_000) {
      let index = (time - from) / 40_000
      let event = events[index % events.count]
      guard let row = world.events[event] else { continue }
      let name = row["name"] == .null ? row["type"]! : row["name"]!
      let post = time - 900
      records.append([
        "ph": "X", "cat": "occurrence", "name": name, "pid": 4711, "tid": 1, "ts": .int(time), "dur": 9_000,
        "args": [
          "event": .int(event), "sequence": .int(index), "postedTs": .int(post), "cause": last.map(Value.int) ?? nil,
          "payload": .text("<b>number \(index)</b>"),
        ],
      ])
      if last != nil {
        let id: Value = .text("c\(event).\(index)")
        records.append(["ph": "s", "cat": "cause", "name": "", "id": id, "pid": 4711, "tid": 2, "ts": .int(post)])
        records.append([
          "ph": "f", "bp": "e", "cat": "cause", "name": "", "id": id, "pid": 4711, "tid": 1, "ts": .int(time),
        ])
      }
      last = nil
      let handlers = world.handlers.values.filter { $0["event"] == .int(event) }
      for (place, handler) in handlers.enumerated() {
        call += 1
        let isInline = handler["lane"] == .null
        let (tid, begin) = isInline ? (1, time + 1_000 + place * 1_000) : (2 + place % 2, time + 10_000)
        let title = handler["name"] == .null ? Value.text("Audit.swift:12") : handler["name"]!
        records.append([
          "ph": "s", "cat": "delivery", "name": "", "id": .text("d\(call)"), "pid": 4711, "tid": 1, "ts": .int(time),
        ])
        records.append([
          "ph": "X", "cat": "call", "name": title, "pid": 4711, "tid": .int(tid), "ts": .int(begin),
          "dur": isInline ? 800 : 21_000,
          "args": [
            "call": .int(call), "handler": handler["id"]!, "event": .int(event), "sequence": .int(index),
            "outcome": call % 11 == 0 ? "threw" : "returned",
          ],
        ])
        records.append([
          "ph": "f", "bp": "e", "cat": "delivery", "name": "", "id": .text("d\(call)"), "pid": 4711, "tid": .int(tid),
          "ts": .int(begin),
        ])
        if tid == 2 { last = call }
      }
    }
    return records
  }
}
