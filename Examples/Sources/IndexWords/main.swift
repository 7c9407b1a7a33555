// Counts the words of a folder:  index-words FOLDER
//
// On Control-C, files that are being read are finished, and the report covers all files that were
// read. The exit status is then 130, as of a program that SIGINT has ended. A second Control-C ends
// the program at once.
import Eventing
import Foundation
import Indexing

guard CommandLine.arguments.count == 2 else {
  print("expected a folder, as in: index-words Sources")
  exit(64)
}

let indexer = Indexer()
// Draws at most ten times a second, however many files are read. The last progress is always drawn.
indexer.progress.addHandler(.throttled(every: .milliseconds(100))) { progress in draw(progress) }

let controlC = ControlC()
controlC.pressed.once { indexer.stop() }

let report = await indexer.index(URL(filePath: CommandLine.arguments[1]))
await indexer.progress.quiesce()  // waits until the last progress is drawn

let words = report.counts.values.reduce(0, +)
print("\n\(words) words, \(report.counts.count) different, in \(report.files.count) files")
if report.unreadable > 0 { print("\(report.unreadable) files are no text") }
for (word, count) in report.counts.sorted(by: { ($0.value, $1.key) > ($1.value, $0.key) }).prefix(10) {
  print("\(count)\t\(word)")
}
if report.wasStopped {
  print("stopped: \(report.left) files are left")
  exit(130)
}
