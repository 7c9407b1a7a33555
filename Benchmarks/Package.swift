// swift-tools-version: 6.2
import PackageDescription

/// The checkout of the library that is measured. `EVENTING_PATH=../../other` measures another version with the same adapters.
let eventingPath = Context.environment["EVENTING_PATH"] ?? ".."

let package = Package(
  name: "eventing-benchmarks",
  platforms: [.macOS(.v26)],  // the typed notifications of Foundation, one of the peers
  products: [
    .executable(name: "event-benchmarks", targets: ["EventBenchmarks"]),
    .executable(name: "Locks", targets: ["Locks"]),
    .library(name: "AllocationCounter", type: .dynamic, targets: ["AllocationCounter"]),
  ],
  dependencies: [
    .package(name: "swift-eventing", path: eventingPath),
    .package(url: "https://github.com/OpenCombine/OpenCombine", exact: "0.14.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
  ],
  targets: [
    // Clocks, counters, threads and the requests to callgrind.
    .target(name: "CMeasure"),
    // Counts allocations when it is preloaded; nothing links it.
    .target(name: "AllocationCounter"),
    // boost::signals2 behind functions of C, if its headers are there.
    .target(name: "BoostSignals"),
    // What is measured and how, without knowing any library.
    .target(name: "BenchmarkKit", dependencies: ["CMeasure"]),
    // One adapter for each library, and the command line.
    .executableTarget(
      name: "EventBenchmarks",
      dependencies: [
        "BenchmarkKit", "BoostSignals", "CMeasure",
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]),
    // What the libraries do where their documentation is silent.
    .executableTarget(
      name: "Conformance",
      dependencies: [
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]),
    // Ways to lock, without any library.
    .executableTarget(name: "Locks", dependencies: ["BenchmarkKit", "CMeasure"]),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)

for target in package.targets where !["CMeasure", "AllocationCounter", "BoostSignals"].contains(target.name) {
  // Not NonisolatedNonsendingByDefault: the naive actors are measured as most people compile them.
  target.swiftSettings = [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility")]
}
