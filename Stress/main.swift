import EventingInspection
import Foundation

// Runs workers that race on events, and checks every guarantee. The folder Scenarios/ contains the
// races, Oracle/ the checks.
//
// This code runs on the main actor and awaits the run, so that the main queue is served meanwhile.

func fail(_ message: String, code: Int32) -> Never {
  Print.error("stress: \(message)")
  exit(code)
}

do {
  let options = try Options(Array(CommandLine.arguments.dropFirst()))
  switch options.command {
  case .help: Print.out(Options.usage)
  case .list:
    let faults = Fault.allCases.map { ("\($0)", $0.summary) }
    let lists = [("scenarios", scenarios.map { ($0.name, $0.summary) }), ("faults", faults)]
    let width = lists.flatMap { $0.1.map(\.0.count) }.max() ?? 0
    for (title, lines) in lists {
      Print.out("\(title):")
      for (name, summary) in lines {
        Print.out("  \(name.padding(toLength: width, withPad: " ", startingAt: 0))  \(summary)")
      }
    }
  case .replay(let path):
    let isSame = try await Task.detached { try await Replay.run(path) }.value
    exit(isSame ? 0 : 1)
  case .run:
    if let path = options.inspectPath {
      do {
        Print.out("An inspector can look at \(try Inspection.serve(at: path).path)")
      } catch { throw UsageError("--inspect: \(error)") }
    }
    let isClean = try await Task.detached { try await Director(options).run() }.value
    exit(isClean ? 0 : 1)
  }
} catch let error as UsageError {
  fail(error.message, code: 64)
}
