// swift-tools-version: 6.2
import PackageDescription

/// Three services of a shop that talk over NATS. Your package names an address instead of a path.
let package = Package(
  name: "shop",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-eventing", path: "..", traits: ["NATS"])],
  targets: [
    .target(name: "Shop", dependencies: [.product(name: "EventingNATS", package: "swift-eventing")]),
    .executableTarget(name: "orders", dependencies: ["Shop"], path: "Sources/Orders"),
    .executableTarget(name: "billing", dependencies: ["Shop"], path: "Sources/Billing"),
    .executableTarget(name: "dashboard", dependencies: ["Shop"], path: "Sources/Dashboard"),
  ],
  swiftLanguageModes: [.v6]
)
