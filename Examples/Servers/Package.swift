// swift-tools-version: 6.2
import PackageDescription

/// A package for two servers. It is separate because their dependencies take minutes to build.
let package = Package(
  name: "servers",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-eventing", path: "../.."),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
  ],
  targets: [
    .target(
      name: "Chat",
      dependencies: [
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]),
    .executableTarget(
      name: "chat-server",
      dependencies: ["Chat", .product(name: "UnixSignals", package: "swift-service-lifecycle")],
      path: "Sources/ChatServer"),
    .target(
      name: "Updates",
      dependencies: [
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    .executableTarget(
      name: "updates-server", dependencies: ["Updates", .product(name: "Hummingbird", package: "hummingbird")],
      path: "Sources/UpdatesServer"),
    .testTarget(
      name: "ServerTests",
      dependencies: [
        "Chat", "Updates",
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// The compiler features of swift-eventing itself: its Package.swift says what each is for.
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
