public import Eventing
public import Foundation

/// Counts the words of all files of a folder, several files at a time.
///
/// Each file is an occurrence of an event, and the reader is its handler: up to `limit` calls of
/// the reader run at a time. If a call throws, the report of its occurrence has a failure. An
/// indexer can be used only once, for one folder.
public final class Indexer: Sendable {
  /// The number of files that have been read, and the number of all files.
  public struct Progress: Hashable, Sendable {
    public let read: Int
    public let total: Int
  }

  /// The word counts of the files that were read, and the numbers of the other files.
  public struct Report: Sendable {
    /// The number of occurrences of each word.
    public let counts: [String: Int]
    /// The files whose words were counted.
    public let files: [URL]
    /// The number of files that are not text.
    public let unreadable: Int
    /// Whether `stop()` was called.
    public let wasStopped: Bool
    /// The number of files that were found, but not read because the indexer was stopped.
    public let left: Int
  }

  /// The event that is sent after each file has been read. Throttle handlers that draw the
  /// progress.
  public let progress = Event<Progress>("progress")

  private let files = Event<URL>("files")
  private let words = WordCounts()

  /// Creates an indexer.
  ///
  /// - Parameter limit: The largest number of files that are read at a time.
  public init(limit: Int = ProcessInfo.processInfo.activeProcessorCount) {
    files.addHandler(.named("reader"), on: .concurrent(limit: limit)) { [words, progress] file in
      let counts = try countWords(of: file)
      await words.add(counts, of: file) { read in progress.post(read) }
    }
  }

  /// Reads all files of a folder and of the folders in it.
  ///
  /// - Parameter folder: The folder to walk.
  /// - Returns: The report. If `stop()` was called, it covers only the files that were read.
  public func index(_ folder: URL) async -> Report {
    let found = regularFiles(in: folder, while: { !isStopped })
    await words.expect(found.count)

    // Backpressure: at most this many files wait for the reader, however large the folder is.
    let window = 64
    var waiting: [SendTicket] = []
    var unreadable = 0
    for file in found {
      if isStopped { break }
      if waiting.count == window { unreadable += await waiting.removeFirst().report.failures.count }
      waiting.append(files.submit(file))
    }
    for ticket in waiting { unreadable += await ticket.report.failures.count }

    let (counts, read) = await (words.counts, words.files)
    return Report(
      counts: counts, files: read, unreadable: unreadable, wasStopped: isStopped,
      left: found.count - read.count - unreadable)
  }

  /// Stops the indexer: no further file is begun. Files that are being read are finished, and then
  /// `index` returns.
  ///
  /// The removal of the handler takes effect at once: calls that still wait are not made.
  public func stop() { files.removeAll(where: .named("reader")) }

  private var isStopped: Bool { !files.contains(where: .named("reader")) }
}
