import EventingLocal

final class View { var title = "" }

actor Store { var last: View? }

func mistake(_ store: Store) async {
  let event = LocalEvent<View>()
  // error: sending 'event' risks causing data races
  await event.addHandler(isolatedTo: store) { store, view in store.last = view }
  event.post(View())
}
