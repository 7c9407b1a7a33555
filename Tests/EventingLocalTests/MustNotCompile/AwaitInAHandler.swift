import EventingLocal

final class View { var title = "" }

func mistake(_ event: LocalEvent<View>) {
  // error: cannot pass function of type '(View) async -> ()' to parameter expecting synchronous
  event.addHandler { view in await Task.yield() }
}
