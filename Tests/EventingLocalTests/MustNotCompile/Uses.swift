import Eventing
import EventingLocal

// This file compiles, which shows that the mistakes of the others are all that is wrong with them.

final class View {
  var title = ""
  func show() {}
}

@MainActor final class Screen {
  let tapped = LocalEvent<View>()
  let titles = Event<String>()
  var last: View?
  func remember(_ view: View) { last = view }
  init() {
    tapped.addHandler { [unowned self] view in
      last = view
      remember(view)
      view.show()
    }
    tapped.addHandler(.named("memory"), .once, owner: self) { screen, view in screen.remember(view) }
    tapped.intercept(.priority(1), owner: self) { screen, view in screen.last == nil ? .proceed : .stop }
    tapped.filter { view in view.title != "" }.map(\.title).forward(to: titles)
    titles.addHandler(on: .main, owner: self) { screen, title in screen.tapped.post(View()) }
  }
  func tap(_ view: View) { tapped.post(view) }
  func later() { Task { tapped.post(View()) } }
}

actor Store {
  let changed = LocalEvent<View>()
  var seen: [View] = []
  func start() { changed.addHandler(isolatedTo: self) { store, view in store.keep(view) } }
  func keep(_ view: View) { seen.append(view) }
  func change() { changed.post(View()) }
}

func oneTask() async {
  let local = LocalEvent<View>()
  var count = 0
  let token = local.addHandler { view in count += view.title.count }
  local.post(View())
  await Task.yield()
  local.withLocked(token) { local.post(View()) }
  print(count)
}
