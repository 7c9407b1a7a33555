// swift-tools-version: 6.2
import PackageDescription

/// Shows the events of a running program, in a browser and in a terminal. The inspector speaks the
/// protocol of EventingInspection, and uses no code of swift-eventing.
let package = Package(
  name: "inspector",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "inspector", targets: ["inspector"])],
  dependencies: [
    .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
  ],
  targets: [
    .target(name: "InspectorClient"),
    .target(
      name: "InspectorPage",
      dependencies: ["InspectorClient", .product(name: "FlyingFox", package: "FlyingFox")],
      resources: [.copy("Page")]),
    .executableTarget(
      name: "inspector",
      dependencies: [
        "InspectorClient", "InspectorPage", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // A program that speaks the app's side of the protocol, with scripted events.
    .target(name: "FakeApp", dependencies: ["InspectorClient"], path: "Tests/FakeApp"),
    .executableTarget(
      name: "fake-app", dependencies: ["FakeApp"], path: "Tests/Page", exclude: ["page.py", "chromium.py"]),
    .testTarget(name: "InspectorTests", dependencies: ["FakeApp", "InspectorClient", "InspectorPage"]),
  ],
  swiftLanguageModes: [.v6]
)
for target in package.targets {
  target.swiftSettings = [.enableUpcomingFeature("ExistentialAny")]
}
