import BenchmarkKit
import Foundation

/// Compares mutexes: `swift run -c release Locks`. RESULTS.md explains the columns.
@main enum Locks {
  private static let contests = [
    Contest(ByteLock<PlainStore>.self), Contest(ByteLock<FencedStore>.self), Contest(ByteLock<Exchange>.self),
    Contest(ByteLock<OpaqueStore>.self), Contest(LibraryMutex.self), Contest(ThreadMutex.self),
  ]

  static func main() {
    let arguments = CommandLine.arguments.dropFirst().compactMap(Int.init)
    if arguments.count == 2 {  // `instructions(of:)` has started this program again, under callgrind
      return contests[arguments[0]].repeatAlone(arguments[1])
    }
    let turns = turns(rounds: arguments.first ?? 11)
    print("| lock | ns | instructions | 2 threads, M/s | 4 threads, M/s | wait, 99 %, ns | longest wait, µs |")
    print("|---|---|---|---|---|---|---|")
    for (index, contest) in contests.enumerated() {
      func median(_ value: (Turn) -> Double) -> Double { turns[index].map(value).sorted()[turns[index].count / 2] }
      let columns = [
        text(median(\.uncontended), 1), instructions(of: index).map { text($0, 1) } ?? "-",
        text(median(\.pairsOfTwo) / 1e6, 1), text(median(\.pairsOfFour) / 1e6, 1),
        text(median(\.wait99), 0), text(median(\.waitMost) / 1e3, 0),
      ]
      print("| \(contest.title) | \(columns.joined(separator: " | ")) |")
    }
    let noise = turns.joined().map(\.noise).sorted()
    let share = text(noise[noise.count / 2] * 100, 0)
    print("\nOther processes took \(share) % of a core meanwhile (median of the turns).")
  }

  /// Measures the locks in rotation, each 3 × `rounds` times. Returns for each lock `rounds`
  /// measurements: the ones during which other processes used the least processor time.
  private static func turns(rounds: Int) -> [[Turn]] {
    var turns: [[Turn]] = contests.map { _ in [] }
    for round in 0..<(3 * rounds) {
      for step in contests.indices {
        let index = (step + round) % contests.count
        _ = SystemLoad.waitForQuiet(limit: 0.3e9)
        let before = SystemLoad.now()
        var turn = contests[index].measure(0.2)
        turn.noise = before.others(until: .now())
        turns[index].append(turn)
      }
    }
    return turns.map { Array($0.sorted { $0.noise < $1.noise }.prefix(rounds)) }
  }

  private static func text(_ value: Double, _ digits: Int) -> String { String(format: "%.\(digits)f", value) }

  /// Returns the number of instructions of one pair of lock and unlock: the difference between the
  /// counts for 200,000 and for 100,000 pairs, divided by 100,000.
  ///
  /// Returns nil if a tool is missing.
  private static func instructions(of index: Int) -> Double? {
    // Valgrind cannot read the debug information of Swift 6.3.
    let stripped = FileManager.default.temporaryDirectory.appendingPathComponent("Locks-\(getpid())").path
    defer { try? FileManager.default.removeItem(atPath: stripped) }
    guard
      run("objcopy", "--strip-debug", CommandLine.arguments[0], stripped) != nil,
      let once = callgrind(stripped, index, 100_000), let twice = callgrind(stripped, index, 200_000)
    else { return nil }
    return Double(twice - once) / 100_000
  }

  private static func callgrind(_ program: String, _ index: Int, _ count: Int) -> Int? {
    run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, String(index), String(count))?
      .split(separator: "\n").first { $0.contains("Collected :") }?
      .split(separator: " ").last.flatMap { Int($0) }
  }

  /// Returns the text that the command wrote to its standard error, or nil if it failed.
  private static func run(_ command: String...) -> String? {
    let process = Process()
    let errors = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.standardError = errors
    guard (try? process.run()) != nil else { return nil }
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? said : nil
  }
}
