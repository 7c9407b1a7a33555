import Dispatch
import EventingInspection
import EventingTesting
import Foundation
import Testing

@testable import Eventing

/// Tests of guarantees S6 and S8: while a file takes no bytes, the memory of its recording is
/// bounded, and the recording says how many occurrences are missing.
@Suite struct RecordingGapTests {
  private let pipePath = TemporaryFile("pipe")
  private let file = TemporaryFile()

  @Test func aPipeThatNobodyReadsBoundsTheMemory() async throws {
    let pipe = try #require(Pipe(pipePath.path))
    let (first, others) = (Event<String>("first"), Event<String>("others"))
    let recording = try EventRecording(appendingTo: pipePath.path)
    recording.record(first, as: "first")
    recording.record(others, as: "others")
    let text = String(repeating: "x", count: 1_000_000)
    DispatchQueue.global().async { first.post(text) }
    // The thread that posts to `first` writes the line to the pipe. When the first bytes of the
    // line have arrived here, that thread waits until the pipe has room for the rest.
    #expect(await eventually { pipe.read(until: "{\"n\":1,") })
    let before = residentBytes
    for _ in 0..<400 { others.post(text) }
    #expect(recording.waitingBytes <= 18_100_000, "16 MiB, and the line that passed the limit")
    #expect(recording.lostCount >= 380)
    #expect(residentBytes - before < 200_000_000)
    // The test reads the pipe until no bytes wait. So the recording has room, and records the next
    // occurrence.
    #expect(await eventually { pipe.read(until: "no such text") || recording.waitingBytes == 0 })
    await others.send("after the gap")
    async let ended = recording.end()
    #expect(await eventually { pipe.read(until: "{\"end\":true") })
    let (count, lost) = (try await ended, recording.lostCount)
    #expect(count + lost == 402)
    _ = pipe.read(until: "no such text")
    let lines = pipe.text.split(separator: "\n")
    #expect(lines.filter { $0.hasPrefix("{\"n\":") }.count == count)
    let gap = try #require(lines.firstIndex { $0.hasPrefix("{\"gap\":true,") })
    #expect(lines[gap].hasSuffix("\"count\":\(lost)}"))
    #expect(lines[gap + 1].contains("after the gap"), "the gap stands where the occurrences are missing")

    try file.write(pipe.text)
    let error = #expect(throws: InspectionError.self) { try EventPlayback(file.path) }
    #expect(error?.line == gap + 1)
    let replay = try EventPlayback(file.path, damaged: .skip)
    let outcome = try await replay.run(at: .asFastAsPossible, into: ["first": .nothing, "others": .nothing])
    #expect(outcome.lostCount == lost && outcome.damaged.map(\.line) == [gap + 1] && outcome.isComplete)
  }

  /// The resident memory of the process; 0 where this is not known.
  private var residentBytes: Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * 4_096
  }
}

/// A pipe with a name, which is read without waiting.
private final class Pipe: Sendable {
  private let descriptor: Int32
  private let bytes = Guarded<[UInt8]>([])

  init?(_ path: String) {
    guard unsafe mkfifo(path, 0o600) == 0 else { return nil }
    // The pipe is also opened for writing: without a writer, a read would return the end of file.
    descriptor = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

  /// Reads without waiting, until a text has been read or no bytes are left. Returns whether the
  /// text was read.
  func read(until wanted: String) -> Bool {
    bytes.withLock { bytes in
      var chunk = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = readBytes(descriptor, &chunk)
        guard count > 0 else { return false }
        let known = max(0, bytes.count - wanted.utf8.count)
        bytes += chunk.prefix(count)
        if String(decoding: bytes[known...], as: UTF8.self).contains(wanted) { return true }
      }
    }
  }
}

private func readBytes(_ descriptor: Int32, _ bytes: inout [UInt8]) -> Int {
  unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
}
