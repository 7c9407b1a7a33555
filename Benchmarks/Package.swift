// swift-tools-version: 6.2
import PackageDescription

/// The checkout of the library to measure.
///
/// `EVENTING_PATH=../../other` measures another version with the adapters of this package.
let eventingPath = Context.environment["EVENTING_PATH"] ?? ".."

let package = Package(
  name: "eventing-benchmarks",
  platforms: [.macOS(.v26)],  // needed by Foundation's typed notifications, one of the peers
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
    // Clocks, counters, threads, a client of a socket, and the requests to callgrind.
    .target(name: "CMeasure"),
    // A library that counts allocations when it is preloaded. No target links it.
    .target(name: "AllocationCounter"),
    // boost::signals2 behind C functions, if the headers of boost are installed.
    .target(name: "BoostSignals"),
    // The workloads and the harness, independent of any library.
    .target(name: "BenchmarkKit", dependencies: ["CMeasure"]),
    // One adapter for each library, and the command line.
    .executableTarget(
      name: "EventBenchmarks",
      dependencies: [
        "BenchmarkKit", "BoostSignals", "CMeasure",
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "EventingInspection", package: "swift-eventing"),
        .product(name: "EventingLocal", package: "swift-eventing"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "OpenCombineDispatch", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]),
    // Checks the libraries' behaviour where their documentation is silent.
    .executableTarget(
      name: "Conformance",
      dependencies: [
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "OpenCombine", package: "OpenCombine"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]),
    // Compares mutexes, without any event library.
    .executableTarget(name: "Locks", dependencies: ["BenchmarkKit", "CMeasure"]),
  ],
  swiftLanguageModes: [.v6],
  cxxLanguageStandard: .cxx17
)

for target in package.targets where !["CMeasure", "AllocationCounter", "BoostSignals"].contains(target.name) {
  // Without NonisolatedNonsendingByDefault, because most projects compile actors without it.
  target.swiftSettings = [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility")]
}
