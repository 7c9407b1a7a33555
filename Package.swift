// swift-tools-version: 6.3

import PackageDescription

// The environment variable EVENTING_TESTS selects what is built with the libraries, because all
// tests take minutes to compile, and the optimizer takes many minutes for them:
//
// - `races`: the tests of the module Eventing that have races, and the stress test. The races of
//   transports are among the tests of the engine NATS.
// - `payloads`: the tests of how payloads are kept and passed, among those that have races.
// - `documentation`: the tests of the code in the articles of the module Eventing.
// - `transport`: the tests of remote events over the engine in memory.
// - `nats`: the tests of the engine NATS, and its stress test.
let targets = [
  "races": ["EventingTests", "EventingInspectionTests", "stress"], "payloads": ["EventingTests"],
  "documentation": ["EventingTests"], "transport": ["EventingTransportTests"],
  "nats": ["EventingNATSTests", "remote-stress", "dead-letters"],
]
// The folders of EventingTests that a selection has.
let races = ["Helpers", "Payloads", "Races"]
let folders = ["races": races, "payloads": races, "documentation": ["Helpers", "Documentation"]]
let selection = Context.environment["EVENTING_TESTS"].flatMap { $0.isEmpty ? nil : $0 } ?? "all"
if selection != "all" && targets[selection] == nil {
  fatalError("expected EVENTING_TESTS to be all, \(targets.keys.sorted().joined(separator: ", ")); got \(selection)")
}

let package = Package(
  name: "swift-eventing",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Eventing", targets: ["Eventing"]),
    // Notifications and key paths, which need Foundation.
    .library(name: "EventingFoundation", targets: ["EventingFoundation"]),
    // Events inside one isolation, whose payloads need not be Sendable.
    .library(name: "EventingLocal", targets: ["EventingLocal"]),
    // Tells of handlers that are slow or hang, and of lanes that grow.
    .library(name: "EventingDiagnostics", targets: ["EventingDiagnostics"]),
    // Publishers for Combine, and views and bindings for SwiftUI. Empty on systems without these
    // frameworks.
    .library(name: "EventingCombine", targets: ["EventingCombine"]),
    .library(name: "EventingSwiftUI", targets: ["EventingSwiftUI"]),
    // Tools for tests: a recorder, a manual clock, and simulations from seeds.
    .library(name: "EventingTesting", targets: ["EventingTesting"]),
    // Lets an inspector show the events of a running program, over a Unix socket.
    .library(name: "EventingInspection", targets: ["EventingInspection"]),
    // Events that reach other processes: the protocol of an engine, and an engine in memory.
    .library(name: "EventingTransport", targets: ["EventingTransport"]),
    // The engine NATS, with JetStream. Empty without the trait `NATS`.
    .library(name: "EventingNATS", targets: ["EventingNATS"]),
    .executable(name: "stress", targets: ["stress"]),
    .executable(name: "remote-stress", targets: ["remote-stress"]),
    // Lists dead letters of a NATS stream, sends their messages again, or discards them.
    .executable(name: "dead-letters", targets: ["dead-letters"]),
  ],
  // Off by default, so that nothing has to be installed. `swift test --traits NATS` needs libnats
  // and nats-server.
  traits: [.trait(name: "NATS", description: "The engine NATS. It needs the C library libnats.")],
  targets: [
    .target(name: "Eventing"),
    .target(name: "EventingLocal", dependencies: ["Eventing"]),
    .target(name: "EventingDiagnostics", dependencies: ["Eventing"]),
    .target(name: "EventingFoundation", dependencies: ["Eventing"]),
    .target(name: "EventingCombine", dependencies: ["Eventing"]),
    .target(name: "EventingSwiftUI", dependencies: ["Eventing"]),
    .target(name: "EventingInspection", dependencies: ["Eventing", "CEventingInspection"]),
    // A constructor that runs before `main`, and reads the environment variable EVENTING_INSPECT.
    .target(name: "CEventingInspection"),
    .target(name: "EventingTransport", dependencies: ["Eventing"]),
    .target(name: "EventingTesting", dependencies: ["Eventing", "EventingTransport"]),
    .systemLibrary(name: "CNats", pkgConfig: "libnats", providers: [.apt(["libnats-dev"]), .brew(["cnats"])]),
    .target(
      name: "EventingNATS",
      dependencies: ["Eventing", "EventingTransport", .target(name: "CNats", condition: .when(traits: ["NATS"]))]),
    .executableTarget(
      name: "stress", dependencies: ["Eventing", "EventingDiagnostics", "EventingInspection", "EventingTransport"],
      path: "Stress"),
    // A stress test over NATS, which kills its own processes and the broker. Without the trait
    // `NATS`, the program only prints how to build the stress test.
    .executableTarget(
      name: "remote-stress", dependencies: ["Eventing", "EventingNATS", "EventingTransport"], path: "RemoteStress"),
    .executableTarget(
      name: "dead-letters", dependencies: ["EventingInspection", "EventingNATS", "EventingTransport"],
      path: "DeadLetters"),
    // Small programs and a model of their expected results, for a test and for the fuzzer.
    .target(name: "EventingPrograms", dependencies: ["Eventing"], path: "Tests/EventingPrograms"),
    .testTarget(
      name: "EventingTests",
      // The code of the guides uses the bridges where their frameworks exist.
      dependencies: [
        "Eventing", "EventingCombine", "EventingDiagnostics", "EventingFoundation", "EventingInspection",
        "EventingPrograms", "EventingSwiftUI", "EventingTesting",
      ],
      sources: folders[selection]),
    .testTarget(
      name: "EventingLocalTests", dependencies: ["Eventing", "EventingLocal"], exclude: ["MustNotCompile"]),
    .testTarget(
      name: "EventingInspectionTests",
      dependencies: [
        "Eventing", "EventingFoundation", "EventingInspection", "EventingTesting", "EventingTransport",
      ]),
    .testTarget(name: "EventingTransportTests", dependencies: ["Eventing", "EventingTesting", "EventingTransport"]),
    .testTarget(
      name: "EventingNATSTests", dependencies: ["Eventing", "EventingNATS", "EventingTesting", "EventingTransport"]),
  ],
  swiftLanguageModes: [.v6]
)

if let selected = targets[selection] {
  package.targets.removeAll { target in
    [.test, .executable].contains(target.type) && !selected.contains(target.name)
  }
  let names = package.targets.map(\.name)
  package.products.removeAll { !names.contains($0.name) }
}

// The compiler features of every target.
for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
  target.swiftSettings = [
    // SE-0335: an existential type is written `any`, so that its cost can be seen.
    .enableUpcomingFeature("ExistentialAny"),
    // SE-0444: a file uses only what it imports itself.
    .enableUpcomingFeature("MemberImportVisibility"),
    // SE-0409: an import is not part of the API unless it says `public`.
    .enableUpcomingFeature("InternalImportsByDefault"),
    // SE-0461: a nonisolated async function runs on its caller's executor, or is `@concurrent`.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // SE-0470: a conformance of an isolated type is isolated as the type is.
    .enableUpcomingFeature("InferIsolatedConformances"),
    // SE-0481: `weak let`, for closures and records that are Sendable.
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    // SE-0458: every use of an unsafe construct is marked.
    .strictMemorySafety(),
  ]
}
