/// True as soon as `isTrue` is; false when it has not become so within 40 seconds. Only for what nothing announces, such as the end of an object.
func eventually(_ isTrue: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now.advanced(by: .seconds(200))
  while !isTrue() {
    if ContinuousClock.now > deadline || Task.isCancelled { return isTrue() }
    await Task.yield()
  }
  return true
}
