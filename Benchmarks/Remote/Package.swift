// swift-tools-version: 6.2
import PackageDescription

/// Remote events over NATS beside a C program on libnats: `./bench`.
let package = Package(
  name: "eventing-benchmarks-remote",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-eventing", path: "../..", traits: ["NATS"])],
  targets: [
    .systemLibrary(name: "CYardstick", pkgConfig: "libnats", providers: [.apt(["libnats-dev"]), .brew(["cnats"])]),
    // The upper bound for the measurements: libnats without Swift.
    .executableTarget(name: "yardstick", dependencies: ["CYardstick"]),
    .executableTarget(name: "measure", dependencies: [.product(name: "EventingNATS", package: "swift-eventing")]),
  ],
  swiftLanguageModes: [.v6]
)
