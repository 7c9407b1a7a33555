import Eventing
import EventingGRDB
import Foundation
import GRDB
import Testing

#if os(Linux) || os(macOS)
  /// Tests with a real process, which kills itself with SIGKILL at each step in turn.
  @Suite(.timeLimit(.minutes(5))) struct KilledProcessTests {
    private static let orderCount = 12

    @Test func aProcessThatIsKilledAtEachStepLosesNothingAndHandlesNothingTwice() async throws {
      let store = try Store()
      let steps =
        ["appended", "written"] + RelayStep.allCases.map(\.rawValue) + InboxStep.allCases.map(\.rawValue)
      var kills = 0
      for step in steps {
        let (reason, _) = try await run(store, step, 1)
        if reason == .uncaughtSignal { kills += 1 }
      }
      #expect(kills == steps.count)
      let (reason, status) = try await run(store, "none", 0)
      #expect(reason == .exit && status == 0)
      #expect(try store.orderCount == Self.orderCount)
      #expect(try store.bills == Array(0..<Self.orderCount))
      #expect(try store.pendingCount == 0)
      #expect(try firstAppearances(store) == (0..<Self.orderCount).map { "order-\($0)" })
    }

    @Test func relaysOfSeveralProcessesTakeTurnsWhenOneIsKilled() async throws {
      let store = try Store()
      let outbox = Outbox<Int>("orders", in: store.database)
      for order in 0..<60 { try store.place(order, in: outbox) }
      // Each process kills itself after publishing its tenth message, before deleting the message.
      // Then another process continues.
      let kills = try await withThrowingTaskGroup(of: Process.TerminationReason.self) { group in
        for _ in 0..<3 { group.addTask { try await run(store, RelayStep.published.rawValue, 10, "relay").0 } }
        return try await group.reduce(into: 0) { kills, reason in kills += reason == .uncaughtSignal ? 1 : 0 }
      }
      #expect(kills == 3)
      #expect(try store.pendingCount == 60 - 3 * 9)
      let (reason, status) = try await run(store, "none", 0, "relay")
      #expect(reason == .exit && status == 0)
      #expect(try store.pendingCount == 0)
      #expect(try firstAppearances(store) == (0..<60).map { "order-\($0)" })
      // A message is repeated only where a process was killed between publishing and deleting.
      #expect(try journal(store).count == 60 + kills)
    }

    /// Returns the ids in the journal, in the order of its lines.
    private func journal(_ store: Store) throws -> [String] {
      struct Entry: Decodable { let id: String }
      return try Data(contentsOf: store.folder.appending(path: "journal")).split(separator: 10)
        .map { try JSONDecoder().decode(Entry.self, from: $0).id }
    }

    /// Returns the different ids in the journal, in the order of their first lines.
    private func firstAppearances(_ store: Store) throws -> [String] {
      var seen: [String] = []
      for id in try journal(store) where !seen.contains(id) { seen.append(id) }
      return seen
    }

    private func run(
      _ store: Store, _ step: String, _ count: Int, _ mode: String = "all"
    ) async throws -> (Process.TerminationReason, Int32) {
      let process = Process()
      process.executableURL = try executable()
      process.arguments = [
        store.folder.appending(path: "shop.sqlite").path, store.folder.appending(path: "journal").path,
        "\(Self.orderCount)", step, "\(count)", mode,
      ]
      return try await withCheckedThrowingContinuation { continuation in
        process.terminationHandler = { continuation.resume(returning: ($0.terminationReason, $0.terminationStatus)) }
        do { try process.run() } catch { continuation.resume(throwing: error) }
      }
    }

    /// Returns the location of the program `outbox-process`, which is built into the folder of the
    /// tests.
    private func executable() throws -> URL {
      let places = [Bundle.main.bundleURL, Bundle.main.executableURL, URL(filePath: CommandLine.arguments[0])]
      for place in places.compactMap(\.self) {
        for folder in [place, place.deletingLastPathComponent()] {
          let found = folder.appending(path: "outbox-process")
          if FileManager.default.isExecutableFile(atPath: found.path) { return found }
        }
      }
      throw CocoaError(.fileNoSuchFile)
    }
  }
#endif
