// swift-tools-version: 6.2
import PackageDescription

/// A program to look at with the inspector. It begins a fault when its input names one.
let package = Package(
  name: "watched-shop",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-eventing", path: "../..")],
  targets: [
    .executableTarget(
      name: "watched-shop",
      dependencies: [
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "EventingInspection", package: "swift-eventing"),
      ], path: "Sources/WatchedShop")
  ],
  swiftLanguageModes: [.v6]
)
