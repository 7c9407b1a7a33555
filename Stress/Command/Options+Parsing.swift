extension Options {
  /// Parses the arguments that follow the program's name.
  ///
  /// - Throws: `UsageError` if an option or its value is not valid.
  init(_ words: [String]) throws {
    var rest = words[...]
    if rest.first == "replay" {
      guard rest.count == 2, let path = rest.last else {
        throw UsageError("replay: expected one FILE, or - for the standard input; got \(rest.count - 1)")
      }
      command = .replay(path)
      return
    }
    var given = FaultRates.none
    while let word = rest.popFirst() {
      switch word {
      case "--help", "-h": command = .help
      case "--list": command = .list
      case "--seconds": seconds = try Options.seconds(&rest)
      case "--seed": seed = try Options.seed(&rest)
      case "--tasks": tasks = try Options.number(word, 0...256, &rest)
      case "--threads": threads = try Options.number(word, 0...256, &rest)
      case "--events": events = try Options.number(word, 1...100_000, &rest)
      case "--handlers": handlers = try Options.number(word, 1...10_000, &rest)
      case "--mix": mix = try Options.mix(&rest)
      case "--faults":
        try Options.faults(&rest, into: &given)
        faults = given
      case "--scenario": scenarioNames.append(try Options.scenarioName(&rest))
      case "--json": jsonPath = try Options.value(word, "a file", &rest)
      case "--inspect": inspectPath = try Options.value(word, "a path such as /tmp/stress-%p.sock", &rest)
      case "--plot": plotPath = try Options.value(word, "a file", &rest)
      case "--trace": tracePath = try Options.value(word, "a file", &rest)
      default: throw UsageError("expected an option such as --seconds, or replay FILE; got \"\(word)\" (see --help)")
      }
    }
    if tasks + threads < 2 {
      throw UsageError(
        "--tasks and --threads: expected at least 2 workers in all, so that workers can race; got \(tasks + threads)")
    }
  }

  private static func value(_ option: String, _ expected: String, _ rest: inout ArraySlice<String>) throws -> String {
    guard let word = rest.popFirst() else { throw UsageError("\(option): expected \(expected); got nothing") }
    return word
  }

  private static func number(_ option: String, _ range: ClosedRange<Int>, _ rest: inout ArraySlice<String>) throws
    -> Int
  {
    let expected = "a number from \(range.lowerBound) to \(range.upperBound)"
    let word = try value(option, expected, &rest)
    guard let number = Int(word), range.contains(number) else {
      throw UsageError("\(option): expected \(expected); got \"\(word)\"")
    }
    return number
  }

  private static func seconds(_ rest: inout ArraySlice<String>) throws -> Double {
    let expected = "a number of seconds above 0, at most 86400"
    let word = try value("--seconds", expected, &rest)
    guard let number = Double(word), number > 0, number <= 86_400 else {
      throw UsageError("--seconds: expected \(expected); got \"\(word)\"")
    }
    return number
  }

  private static func seed(_ rest: inout ArraySlice<String>) throws -> UInt64 {
    let expected = "a number from 0 to \(UInt64.max)"
    let word = try value("--seed", expected, &rest)
    guard let number = UInt64(word) else { throw UsageError("--seed: expected \(expected); got \"\(word)\"") }
    return number
  }

  private static func mix(_ rest: inout ArraySlice<String>) throws -> Mix {
    let expected = "ADD:REMOVE:LOCK:SEND, four numbers from 0 to 1000 with SEND above 0"
    let word = try value("--mix", expected, &rest)
    let parts = word.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
    guard parts.count == 4, parts.allSatisfy((0...1_000).contains), parts[3] > 0 else {
      throw UsageError("--mix: expected \(expected); got \"\(word)\"")
    }
    return Mix(add: parts[0], remove: parts[1], lock: parts[2], send: parts[3])
  }

  /// Adds the rates of one `--faults` option. `none` discards the rates of earlier options.
  private static func faults(_ rest: inout ArraySlice<String>, into rates: inout FaultRates) throws {
    let kinds = Fault.allCases.map(\.rawValue).joined(separator: ", ")
    let word = try value("--faults", "none, or KIND:RATE with a KIND of \(kinds)", &rest)
    if word == "none" {
      rates = .none
      return
    }
    for part in word.split(separator: ",", omittingEmptySubsequences: false) {
      let pair = part.split(separator: ":", omittingEmptySubsequences: false)
      guard pair.count == 2 else {
        throw UsageError("--faults: expected none, or KIND:RATE such as throw:1000; got \"\(part)\"")
      }
      guard let kind = Fault(rawValue: String(pair[0])) else {
        throw UsageError("--faults: expected a KIND of \(kinds); got \"\(pair[0])\"")
      }
      guard let rate = Int(pair[1]), FaultRates.range.contains(rate) else {
        let range = "from \(FaultRates.range.lowerBound) to \(FaultRates.range.upperBound)"
        throw UsageError("--faults: expected a RATE \(range) (one in RATE chances); got \"\(pair[1])\" for \(kind)")
      }
      rates[kind] = rate
    }
  }

  private static func scenarioName(_ rest: inout ArraySlice<String>) throws -> String {
    let names = scenarios.map { $0.name }
    let expected = "one of \(names.joined(separator: ", "))"
    let word = try value("--scenario", expected, &rest)
    guard names.contains(word) else { throw UsageError("--scenario: expected \(expected); got \"\(word)\"") }
    return word
  }
}
