import EventingLocal

final class View { var title = "" }

@MainActor final class Screen {
  let tapped = LocalEvent<View>()
  func mistake() {
    let view = View()
    // error: sending value of non-Sendable type '() async -> ()' risks causing data races
    Task.detached { print(view.title) }
    tapped.post(view)
  }
}
