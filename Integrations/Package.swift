// swift-tools-version: 6.2

import PackageDescription

/// Returns a product of the main package, which is in the parent folder.
func root(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-eventing") }
let (eventing, transport, testing) = (root("Eventing"), root("EventingTransport"), root("EventingTesting"))
let diagnostics = root("EventingDiagnostics")

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")

let package = Package(
  name: "swift-eventing-integrations",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "EventingLog", targets: ["EventingLog"]),
    .library(name: "EventingMetrics", targets: ["EventingMetrics"]),
    .library(name: "EventingTracing", targets: ["EventingTracing"]),
    .library(name: "EventingLifecycle", targets: ["EventingLifecycle"]),
    .library(name: "EventingGRDB", targets: ["EventingGRDB"]),
  ],
  dependencies: [
    .package(name: "swift-eventing", path: ".."),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
  ],
  targets: [
    .target(name: "EventingLog", dependencies: [eventing, diagnostics, transport, log]),
    .target(name: "EventingMetrics", dependencies: [eventing, transport, metrics]),
    .target(name: "EventingTracing", dependencies: [eventing, transport, tracing]),
    .target(name: "EventingLifecycle", dependencies: [eventing, transport, lifecycle]),
    .target(name: "EventingGRDB", dependencies: [eventing, transport, grdb]),
    .testTarget(
      name: "EventingLogTests",
      dependencies: [
        "EventingLog", eventing, diagnostics, transport, testing, log,
        .product(name: "InMemoryLogging", package: "swift-log"),
      ]),
    .testTarget(
      name: "EventingMetricsTests",
      dependencies: [
        "EventingMetrics", eventing, transport, testing, metrics, .product(name: "MetricsTestKit", package: "swift-metrics"),
      ]),
    .testTarget(
      name: "EventingTracingTests",
      dependencies: [
        "EventingTracing", eventing, transport, testing, tracing,
        .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
      ]),
    .testTarget(
      name: "EventingLifecycleTests",
      dependencies: [
        "EventingLifecycle", eventing, transport, testing, lifecycle, log,
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ]),
    // The code of the README, and the code in guides of the main package that needs other packages.
    .testTarget(
      name: "EventingArticleTests",
      dependencies: [
        "EventingGRDB", "EventingLifecycle", "EventingLog", "EventingMetrics", "EventingTracing", eventing, diagnostics,
        transport, lifecycle, log, grdb, .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ]),
    // The process that the tests of outbox and inbox kill.
    .executableTarget(
      name: "outbox-process", dependencies: ["EventingGRDB", eventing, transport, grdb], path: "Tests/OutboxProcess"),
    .testTarget(
      name: "EventingGRDBTests", dependencies: ["EventingGRDB", "outbox-process", eventing, transport, testing, grdb]),
    .testTarget(
      name: "EventingAsyncAlgorithmsTests",
      dependencies: [
        eventing, transport, testing, .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// Every target uses the compiler features of the main package, whose manifest gives the reasons.
for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .strictMemorySafety(),
  ]
}
