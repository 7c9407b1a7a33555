import Eventing

/// Runs `body` while a handler of the event is running, and so the event is busy.
func whileBusy<Result: Sendable>(_ event: Event<Int>, _ body: () -> Result) async -> Result {
  let (isInside, mayLeave) = (Gate(), Gate())
  event.once(priority: .max) { _ in
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
