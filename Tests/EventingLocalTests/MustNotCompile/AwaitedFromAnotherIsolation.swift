import EventingLocal

final class View { var title = "" }

@MainActor final class Screen { let tapped = LocalEvent<View>() }

@concurrent func mistake(_ screen: Screen) async {
  // error: non-Sendable type 'LocalEvent<View>' of property 'tapped' cannot exit main
  await screen.tapped.addHandler { view in print(view) }
}
