import EventingLocal

final class View { var title = "" }

@MainActor final class Screen { let tapped = LocalEvent<View>() }

// error: main actor-isolated property 'tapped' can not be referenced from a nonisolated context
func mistake(_ screen: Screen) { screen.tapped.post(View()) }
