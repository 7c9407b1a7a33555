import Eventing
import EventingTesting
import Foundation
import Indexing
import Testing

@Suite(.timeLimit(.minutes(5))) struct IndexerTests {
  @Test func theIndexEqualsAPlainCount() async throws {
    try await withLibrary(files: 300) { library in
      let indexer = Indexer(limit: 4)
      let progress = EventRecorder(indexer.progress)
      let report = await indexer.index(library.folder)

      #expect(report.counts == library.count(report.files))
      #expect(Set(report.files.map(\.lastPathComponent)) == Set(library.texts.keys))
      #expect(report.unreadable == 1)
      #expect(report.left == 0)
      #expect(!report.wasStopped)
      await indexer.progress.quiesce()
      #expect(progress.payloads.map(\.read) == Array(1...300))
    }
  }

  @Test func aStoppedIndexIsWholeForTheFilesThatWereRead() async throws {
    try await withLibrary(files: 200) { library in
      let indexer = Indexer(limit: 4)
      indexer.progress.addHandler { progress in if progress.read == 50 { indexer.stop() } }
      let report = await indexer.index(library.folder)

      // When the fiftieth file has been read, up to three other calls may be running. These calls
      // finish.
      #expect(report.wasStopped)
      #expect((50...53).contains(report.files.count))
      #expect(report.files.count + report.unreadable + report.left == 201)
      #expect(report.counts == library.count(report.files))
    }
  }

  @Test func anIndexThatWasStoppedBeforeIsEmpty() async throws {
    try await withLibrary(files: 10) { library in
      let indexer = Indexer()
      indexer.stop()
      let report = await indexer.index(library.folder)
      #expect(report.counts.isEmpty)
      #expect(report.wasStopped)
    }
  }

  @Test func anEmptyFolderHasAnEmptyIndex() async throws {
    try await withLibrary(files: 0) { library in
      let report = await Indexer().index(library.folder)
      #expect(report.counts.isEmpty)
      #expect(report.unreadable == 1)
    }
  }
}
