import BenchmarkKit

/// A parsed command line.
struct Request {
  enum Task {
    case measure([Workload])
    /// Print the names of the workloads that the arguments select.
    case workloads([Workload])
    case list
    case selfTest
    case help
  }
  struct Mistake: Error, CustomStringConvertible { var description: String }

  var task: Task
  var configuration = Configuration()

  /// The workloads that need no external tool.
  private static let usual = Workload.allCases.filter { ![.memory, .instructions].contains($0) }

  init(_ arguments: some Sequence<String>) throws {
    var words = Array(arguments), workloads: [Workload] = [], onlyNames = false, other: Task?
    func value(of option: String) throws -> String {
      guard let value = words.first, !value.hasPrefix("--") else {
        throw Mistake(description: "\(option) needs a value; --help lists the options")
      }
      return words.removeFirst()
    }
    func number<Number: LosslessStringConvertible & Comparable>(
      of option: String, from least: Number, _ text: String? = nil
    ) throws -> Number {
      let text = try text ?? value(of: option)
      guard let number = Number(text), number >= least else {
        throw Mistake(description: "\(option) needs a number that is at least \(least), not \"\(text)\"")
      }
      return number
    }
    func list(of option: String) throws -> [String] { try value(of: option).split(separator: ",").map(String.init) }
    func peers(of option: String) throws -> Set<String> {
      let known = Set(everyPeer().map(\.id)), named = Set(try list(of: option))
      guard let unknown = named.subtracting(known).min() else { return named }
      throw Mistake(description: "\(option) needs names of peers, and \"\(unknown)\" is none; --list has them")
    }

    while !words.isEmpty {
      let word = words.removeFirst()
      switch word {
      case "--rounds": configuration.rounds = try number(of: word, from: 1)
      case "--milliseconds": configuration.milliseconds = try number(of: word, from: 0.01)
      case "--patience": configuration.patience = try number(of: word, from: 0)
      case "--peers": configuration.only = try peers(of: word)
      case "--without": configuration.without = try peers(of: word)
      case "--sizes":
        configuration.sizes = try list(of: word).map { try number(of: word, from: 1, $0) }
      case "--json": configuration.jsonPath = try value(of: word)
      case "--callgrind-output": configuration.callgrindPath = try value(of: word)
      case "--quick":
        configuration.isQuick = true
        configuration.rounds = 5
      case "--workloads": onlyNames = true
      case "--list": other = .list
      case "--self-test": other = .selfTest
      case "--help", "-h": other = .help
      default:
        let matching = Workload.matching(word)
        if matching.isEmpty {
          throw Mistake(description: "\"\(word)\" is neither a workload nor an option; --help lists both")
        }
        workloads += matching.filter { !workloads.contains($0) }
      }
    }
    if onlyNames { other = .workloads(workloads.isEmpty ? Workload.allCases : workloads) }
    task = other ?? .measure(workloads.isEmpty ? Self.usual : workloads)
  }

  static var help: String {
    let workloads = Workload.allCases.map { workload in
      let name = workload.name.padding(18), id = workload.rawValue.padding(5),
        budget = workload.budget.joined(separator: " ").padding(9)
      return "  \(name)\(id)\(budget)\(workload.summary)"
    }
    return """
      ./benchmark [workload …] [option …]        ./benchmark --publish

      Choose a workload by its name, its id, or a row of the performance budget. The default is all workloads.
      (The program event-benchmarks itself then leaves out memory and instructions, which need a tool around it.)
      \(workloads.joined(separator: "\n"))

      --publish             writes the newest results into RESULTS.md, and five rows into the README of the library
      --quick               runs 5 rounds, and does not wait for a quiet machine
      --rounds N            number of rounds that count (41)
      --milliseconds X      length of one repeat (1.2)
      --patience SECONDS    time per table to wait for a quiet machine (150)
      --peers ID,ID         measures only these peers
      --without ID,ID       leaves these peers out
      --sizes N,N           numbers of handlers, threads or items that replace the workload's own, if it has several
      --json PATH           writes the rows (set by ./benchmark)
      --callgrind-output PATH   output file of callgrind, for instructions (set by ./benchmark)
      --workloads           prints the names of the workloads that the words stand for
      --list                prints the peers and how they work
      --self-test           checks that deliberately broken libraries are detected
      """
  }
}

extension String {
  fileprivate func padding(_ width: Int) -> String { self + String(repeating: " ", count: max(1, width - count)) }
}
