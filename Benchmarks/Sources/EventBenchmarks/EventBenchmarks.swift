import BenchmarkKit
import Dispatch
import Foundation

/// Runs the measurements off the main thread, which serves the main actor.
@main
enum EventBenchmarks {
  static func main() {
    let request: Request
    do {
      request = try Request(CommandLine.arguments.dropFirst())
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(2)
    }
    switch request.task {
    case .help: print(Request.help)
    case .workloads(let workloads): for workload in workloads { print(workload.name) }
    case .list: for peer in everyPeer() { print("\(peer.id)\t\(peer.label)\t\(peer.mechanism)") }
    case .measure(let workloads):
      run(seconds: 180) {
        let report = Report(path: request.configuration.jsonPath)
        let harness = Harness(configuration: request.configuration, peers: everyPeer(), report: report)
        for workload in workloads {
          await harness.run(workload)
          try report.save()
        }
        return 0
      }
    case .selfTest:
      run(seconds: 60) { try await SelfTest.run() ? 0 : 1 }
    }
  }

  private static func run(seconds: Int, _ body: @escaping @Sendable () async throws -> Int32) {
    Watchdog.start(seconds: seconds)
    Task.detached {
      do {
        let status = try await body()
        fflush(nil)
        _exit(status)
      } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        _exit(1)
      }
    }
    // `dispatchMain` is not used, because a program under valgrind crashes in it.
    let keep = Timer(timeInterval: 86_400, repeats: true) { _ in }
    RunLoop.main.add(keep, forMode: .default)
    while true { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
  }
}
