import Foundation

/// Checks the libraries' behaviour where their documentation is silent, and prints a table.
///
/// Each check of each library runs in a process of its own, which may crash or hang.
@main struct Conformance {
  /// The time limit of one check, in seconds.
  static let patience = 30.0

  static func main() async throws {
    let words = CommandLine.arguments.dropFirst()
    if words.count == 2, let check = checks.first(where: { $0.name == words.first }),
      let bus = buses.first(where: { $0.name == words.last })
    {
      // A check may pass once because of the order in a dictionary, or by chance. So each check but
      // "deep" and "locked", which has rounds of its own, is repeated up to 20 times, and the first
      // answer other than "yes" is the result.
      var answer = await check.run(bus.init())
      for _ in 0..<20 where answer == "yes" && !["deep", "locked"].contains(check.name) {
        answer = await check.run(bus.init())
      }
      print(answer)
      exit(0)
    }
    guard words.isEmpty else {
      FileHandle.standardError.write(
        Data(
          "expected no arguments, or the names of a check and of a library; got \(words.joined(separator: " "))\n".utf8)
      )
      exit(64)
    }
    print("| | \(buses.map { $0.name }.joined(separator: " | ")) |")
    print("| --- |\(String(repeating: " --- |", count: buses.count))")
    var isAsExpected = true
    for check in checks {
      let answers = buses.map { bus in answer(check, bus) }
      // Only swift-eventing, the first of the buses, must give the expected answers.
      if !check.expected.isEmpty, check.expected == "yes" || check.expected == "0", answers.first != check.expected {
        isAsExpected = false
      }
      print("| \(check.title) | \(answers.joined(separator: " | ")) |")
    }
    exit(isAsExpected ? 0 : 1)
  }

  private static func answer(_ check: Check, _ bus: any ComparedBus.Type) -> String {
    if bus is any SequenceBus.Type, !check.isForLoops { return "" }
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [check.name, bus.name]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    let ended = DispatchSemaphore(value: 0)
    process.terminationHandler = { _ in ended.signal() }
    guard (try? process.run()) != nil else { return "could not be started" }
    if ended.wait(timeout: .now() + patience) == .timedOut {
      kill(process.processIdentifier, SIGKILL)
      return "not within \(Int(patience)) s"
    }
    guard process.terminationReason == .exit, process.terminationStatus == 0 else { return "crashes" }
    return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).trimmingCharacters(
      in: .whitespacesAndNewlines)
  }
}
