import EventingLocal

final class View { var title = "" }

@MainActor final class Screen { var last: View? }

func mistake(_ screen: Screen) {
  let event = LocalEvent<View>()
  // error: main actor-isolated property 'last' can not be mutated from a nonisolated context
  event.addHandler { view in screen.last = view }
}
