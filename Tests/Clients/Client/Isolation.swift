import Dispatch
import Eventing

nonisolated let mainKey = DispatchSpecificKey<Bool>()

/// Whether this code runs on the queue of the main actor. On Linux that is not always the main
/// thread.
nonisolated func onMain() -> Bool { DispatchQueue.getSpecific(key: mainKey) == true }

nonisolated func note(_ what: String) { Log.shared.write("\(what) \(onMain())") }

/// Expects where each closure of the article *Isolation* runs. All are written on the main actor.
/// The first occurrence comes from the main actor, and the second from another thread.
@MainActor func isolation() async {
  DispatchQueue.main.setSpecific(key: mainKey, value: true)
  let (event, store) = (Event<Int>(), Store())
  event.addHandler { _ in note("inline") }
  event.addHandler(on: .background) { _ in note("background") }
  event.addHandler(on: .main) { _ in note("main") }
  event.addHandler { _ async in note("asynchronous") }
  event.addHandler(on: .main) { _ async in note("asynchronous on main") }
  event.addHandler(isolatedTo: store) { _, _ in note("actor") }
  event.map { number in
    note("map")
    return number
  }
  .addHandler { _ async in }
  event.addHandler(
    .inOrder(by: { _ in
      note("key")
      return 1
    }), on: .concurrent(limit: 2)
  ) { _ async in }
  event.intercept { _ in
    note("interceptor")
    return .proceed
  }
  await event.send(1)
  expect(Log.shared.take().sorted(), places(inline: true))
  _ = await Task.detached { await event.send(2) }.value
  expect(Log.shared.take().sorted(), places(inline: false))
}

nonisolated func places(inline: Bool) -> [String] {
  [
    "actor false", "asynchronous false", "asynchronous on main true", "background false", "inline \(inline)",
    "interceptor \(inline)", "key \(inline)", "main true", "map \(inline)",
  ].sorted()
}

actor Store {}
