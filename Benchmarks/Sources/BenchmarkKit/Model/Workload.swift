/// A workload of the benchmarks. The raw value is the id of its rows.
package enum Workload: String, CaseIterable, Codable, Sendable {
  case sending = "W1"
  case addRemove = "W2"
  case replaceRandom = "W2R"
  case addByPriority = "W2P"
  case once = "W3"
  case contention = "W4"
  case mixed = "W5"
  case latency = "W6"
  case lanes = "W7"
  case memory = "W8"
  case flood = "W9"
  case backlog = "W10"
  case scale = "W11"
  case kinds = "W12"
  case mainQueue = "W13"
  case instructions = "IC"

  /// The name on the command line.
  package var name: String {
    switch self {
    case .sending: "sending"
    case .addRemove: "add-remove"
    case .replaceRandom: "replace-random"
    case .addByPriority: "add-by-priority"
    case .once: "once"
    case .contention: "contention"
    case .mixed: "mixed"
    case .latency: "latency"
    case .lanes: "lanes"
    case .memory: "memory"
    case .flood: "flood"
    case .backlog: "backlog"
    case .scale: "scale"
    case .kinds: "kinds"
    case .mainQueue: "main-queue"
    case .instructions: "instructions"
    }
  }

  /// The goals of the performance budget that the workload measures. README.md of Benchmarks
  /// explains the budget.
  package var budget: [String] {
    switch self {
    case .sending: ["P1", "P3"]
    case .addRemove, .replaceRandom, .addByPriority: ["P5"]
    case .once: ["P7"]
    case .contention: ["P4"]
    case .mixed: ["P6"]
    case .latency: ["P9"]
    case .lanes: ["P8"]
    case .memory: ["P10", "P11"]
    case .flood: ["P13"]
    case .backlog: ["P12"]
    case .scale: []
    case .kinds: ["P14", "S2", "S3"]
    case .mainQueue: ["P17"]
    case .instructions: ["P2", "P14", "P16"]
    }
  }

  /// One line on what the workload measures.
  package var summary: String {
    switch self {
    case .sending: "one sender, an idle event, 1 / 8 / 64 / 1,024 inline handlers"
    case .addRemove: "add a handler and remove it, beside 0 / 1,000 / 100,000 others"
    case .replaceRandom: "remove a random one of 1,000 / 100,000 handlers and add one in its place"
    case .addByPriority: "add a handler of middle priority beside 1,000 others, and remove it"
    case .once: "add a handler that is called once, and send"
    case .contention: "1, 2 and 4 threads or tasks send to one event with 8 handlers"
    case .mixed: "2 senders and 2 threads that add and remove, on one event with 8 handlers"
    case .latency: "time from a send to a handler that runs elsewhere, one occurrence in flight"
    case .lanes: "sustained delivery to one handler that runs elsewhere"
    case .memory: "bytes of an idle event and of a handler; allocations of a send, an add and a once"
    case .flood:
      "threads post as fast as they can to 8 handlers, while a task awaits an isolated call every millisecond"
    case .backlog: "1,000 and 1,000,000 items wait for one handler that runs elsewhere"
    case .scale: "1 to 1,000,000 handlers on an event, events, owners; 16 threads on 1 and on 16 events"
    case .kinds: "one sender, 1 inline handler, idle events of other kinds than the plain one"
    case .mainQueue: "the longest time that a lane keeps the main queue, with 100 calls of 2 ms that wait"
    case .instructions: "instructions of a send, an add with a remove, a once, and a delivery elsewhere; needs valgrind"
    }
  }

  /// Returns the workloads whose name or id is `word`, or that measure the goal `word` of the
  /// performance budget, such as P3.
  package static func matching(_ word: String) -> [Workload] {
    allCases.filter {
      $0.name == word.lowercased() || $0.rawValue == word.uppercased() || $0.budget.contains(word.uppercased())
    }
  }
}
