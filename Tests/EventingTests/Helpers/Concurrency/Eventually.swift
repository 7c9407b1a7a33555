/// True as soon as `isTrue` is; false when it has not become so in time. Only for what nothing
/// announces, such as the end of an object.
func eventually(within limit: Duration = .seconds(200), _ isTrue: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now.advanced(by: limit)
  while !isTrue() {
    if ContinuousClock.now > deadline || Task.isCancelled { return isTrue() }
    await Task.yield()
  }
  return true
}
