import Eventing

/// A thread posts 0, and a once handler of the highest priority blocks it until `body` returns.
func whileBusy<Result: Sendable>(_ event: Event<Int>, _ body: () -> Result) async -> Result {
  let (isInside, mayLeave) = (Gate(), Gate())
  event.once(.priority(.max)) { _ in
    isInside.open()
    mayLeave.wait()
  }
  let poster = startThread { event.post(0) }
  await isInside.opened()
  let result = body()
  mayLeave.open()
  await poster.opened()
  return result
}
