import EventingLocal

final class View { var title = "" }

actor Store {
  var count = 0
  func listen(to event: LocalEvent<View>) { event.addHandler { _ in self.count += 1 } }
}

func mistake(_ store: Store) async {
  let event = LocalEvent<View>()
  // error: sending 'event' risks causing data races
  await store.listen(to: event)
  event.post(View())
}
