import EventingLocal

final class View { var title = "" }

@MainActor final class Screen {
  let tapped = LocalEvent<View>()
  // error: non-Sendable type 'LocalEvent<View>' of property 'tapped' cannot exit main
  func mistake() { Task.detached { await self.tapped.post(View()) } }
}
