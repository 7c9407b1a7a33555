// swift-tools-version: 6.3
import PackageDescription

/// One client in five module modes. README.md says what it shows.
let package = Package(
  name: "eventing-clients",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "swift-eventing", path: "../..")],
  targets: [
    // The stubs of Tests/Platforms, and the product EventingSwiftUI over them.
    .target(name: "SwiftUI"),
    .target(
      name: "SwiftUIBridge", dependencies: ["SwiftUI", .product(name: "Eventing", package: "swift-eventing")],
      swiftSettings: [
        .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .enableUpcomingFeature("InferIsolatedConformances"),
        .strictMemorySafety(),
      ]),
    // The deadlock of the article "Replace your broadcaster".
    .executableTarget(name: "Broadcaster", dependencies: [.product(name: "Eventing", package: "swift-eventing")]),
  ],
  swiftLanguageModes: [.v6]
)

/// The features of approachable concurrency. Swift 6 has the last three switched on.
let approachable: [SwiftSetting] = [
  .enableUpcomingFeature("InferIsolatedConformances"), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
let approachable5: [SwiftSetting] =
  approachable + [
    .enableUpcomingFeature("DisableOutwardActorInference"), .enableUpcomingFeature("GlobalActorIsolatedTypesUsability"),
    .enableUpcomingFeature("InferSendableFromCaptures"),
  ]

// Each target is a symbolic link to the folder Client.
let modes: [(name: String, settings: [SwiftSetting])] = [
  ("Plain", []),
  ("PlainApproachable", approachable),
  ("OnMain", [.defaultIsolation(MainActor.self)]),
  ("OnMainApproachable", approachable + [.defaultIsolation(MainActor.self)]),
  ("Swift5", [.swiftLanguageMode(.v5)]),
  ("Swift5OnMainApproachable", approachable5 + [.defaultIsolation(MainActor.self), .swiftLanguageMode(.v5)]),
]

for mode in modes {
  package.targets.append(
    .executableTarget(
      name: mode.name,
      dependencies: [
        "SwiftUI", "SwiftUIBridge", .product(name: "Eventing", package: "swift-eventing"),
        .product(name: "EventingNATS", package: "swift-eventing"),
        .product(name: "EventingTesting", package: "swift-eventing"),
        .product(name: "EventingTransport", package: "swift-eventing"),
      ],
      swiftSettings: mode.settings + [.treatAllWarnings(as: .error)]))
}
