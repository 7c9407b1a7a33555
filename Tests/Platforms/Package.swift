// swift-tools-version: 6.2
import PackageDescription

/// Compiles the bridges to Apple's frameworks on systems without these frameworks. README.md says
/// which packages and stubs replace them.
let package = Package(
  name: "eventing-platforms",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "swift-eventing", path: "../.."),
    .package(url: "https://github.com/OpenCombine/OpenCombine", exact: "0.14.0"),
  ],
  targets: [
    // OpenCombine under the name Combine.
    .target(name: "Combine", dependencies: [.product(name: "OpenCombine", package: "OpenCombine")]),
    // The few declarations of SwiftUI that EventingSwiftUI uses.
    .target(name: "SwiftUI"),
    // The few declarations of the module os that `SignpostObserver` uses. They record their calls
    // for the tests.
    .target(name: "os"),
    // Symbolic links to the sources of the products EventingCombine and EventingSwiftUI.
    .target(name: "CombineBridge", dependencies: ["Combine", .product(name: "Eventing", package: "swift-eventing")]),
    .target(name: "SwiftUIBridge", dependencies: ["SwiftUI", .product(name: "Eventing", package: "swift-eventing")]),
    // A symbolic link to the source file of `SignpostObserver`, which is part of
    // EventingFoundation.
    .target(name: "SignpostBridge", dependencies: ["os", .product(name: "Eventing", package: "swift-eventing")]),
    .testTarget(
      name: "PlatformTests",
      dependencies: [
        "Combine", "CombineBridge", "SignpostBridge", "SwiftUI", "SwiftUIBridge", "os",
        .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "OpenCombine", package: "OpenCombine"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// The bridges need the compiler features of the main package: without these features, the code
// means something else.
for target in package.targets where target.name.hasSuffix("Bridge") || target.name == "PlatformTests" {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"), .strictMemorySafety(),
  ]
}
