/// Polls for at most 200 seconds. Only for a change that nothing signals, such as the release of an
/// object.
func eventually(_ isTrue: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now.advanced(by: .seconds(200))
  while !isTrue() {
    if ContinuousClock.now > deadline || Task.isCancelled { return isTrue() }
    await Task.yield()
  }
  return true
}
