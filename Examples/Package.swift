// swift-tools-version: 6.2
import PackageDescription

// The compiler features of swift-eventing itself: its Package.swift says what each is for.
let features: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .strictMemorySafety(),
]
let eventing = Target.Dependency.product(name: "Eventing", package: "swift-eventing")
let eventingTesting = Target.Dependency.product(name: "EventingTesting", package: "swift-eventing")

/// A package of the examples that build fast. Your package would name a URL instead of a path.
/// Examples with large dependencies are in Servers/, a package of its own.
let package = Package(
  name: "examples",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-eventing", path: "..", traits: ["NATS"])],
  targets: [
    // An indexer that works in parallel, shows its progress, and ends cleanly at Control-C.
    .target(name: "Indexing", dependencies: [eventing], swiftSettings: features),
    .executableTarget(
      name: "index-words", dependencies: ["Indexing", eventing], path: "Sources/IndexWords", swiftSettings: features),
    .testTarget(
      name: "IndexingTests", dependencies: ["Indexing", eventing, eventingTesting], swiftSettings: features),
    // A view model that searches while its user types.
    .target(name: "Search", dependencies: [eventing], swiftSettings: features),
    .testTarget(name: "SearchTests", dependencies: ["Search", eventing, eventingTesting], swiftSettings: features),
    // Three services of a shop that communicate over NATS.
    .target(name: "Shop", dependencies: [.product(name: "EventingNATS", package: "swift-eventing")]),
    .executableTarget(name: "orders", dependencies: ["Shop"], path: "Sources/Orders"),
    .executableTarget(name: "billing", dependencies: ["Shop"], path: "Sources/Billing"),
    .executableTarget(name: "dashboard", dependencies: ["Shop"], path: "Sources/Dashboard"),
  ],
  swiftLanguageModes: [.v6]
)
