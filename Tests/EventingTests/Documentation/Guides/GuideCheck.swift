import Testing

/// The comparison of a guide with the code that its tests run.
enum GuideCheck {
  /// Expects that each example of a guide, and each call in the last column of the guide's tables,
  /// stands unchanged in the guide's tests.
  ///
  /// - Parameters:
  ///   - guide: The name of the guide's file.
  ///   - tests: The beginning of the names of the test files.
  ///   - examples: The number of examples in the guide.
  ///   - calls: The least number of calls in the guide's tables.
  static func run(_ guide: String, _ tests: String, examples: Int, calls: Int = 0) throws {
    let run = try Documentation.lines(ofTests: tests)
    let code = try Documentation.examples(Documentation.article("Guides/\(guide)"))
    #expect(code.count == examples)
    for example in code {
      let isRun = run.indices.contains { run[$0...].starts(with: example) }
      #expect(isRun, "not in \(tests).swift as it stands in \(guide): \(example.first ?? "")")
    }
    let cells = try Documentation.lastColumns(Documentation.article("Guides/\(guide)")).joined()
    let listed = cells.filter { !$0.isEmpty }
    #expect(listed.count >= calls)
    let lines = Set(run)
    for call in listed {
      let isRun = lines.contains(call)
      #expect(isRun, "not in \(tests).swift as it stands in \(guide): \(call)")
    }
  }
}
