// swift-tools-version: 6.3
import PackageDescription

/// A client of all packages that are published, by URL. `.ci/steps/published` serves the URLs, and runs the client.
let package = Package(
  name: "client",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/swift-eventing/swift-eventing", from: "0.9.0", traits: ["NATS"]),
    .package(url: "https://github.com/swift-eventing/swift-eventing-integrations", from: "0.9.0"),
    .package(url: "https://github.com/swift-eventing/swift-eventing-inspector", from: "0.9.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
  ],
  targets: [
    .executableTarget(
      name: "client",
      dependencies: [
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "EventingInspection", package: "swift-eventing"),
        .product(name: "EventingLog", package: "swift-eventing-integrations"),
        .product(name: "EventingNATS", package: "swift-eventing"),
        .product(name: "inspector", package: "swift-eventing-inspector"),
        .product(name: "Logging", package: "swift-log"),
      ])
  ]
)
