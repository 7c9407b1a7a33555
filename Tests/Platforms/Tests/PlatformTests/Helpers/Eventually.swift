/// Polls `isTrue`, and returns whether it became true within 200 seconds.
///
/// Polling also ends if the task is cancelled. Use this function only for a change that nothing
/// signals, such as the release of an object.
func eventually(_ isTrue: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now.advanced(by: .seconds(200))
  while !isTrue() {
    if ContinuousClock.now > deadline || Task.isCancelled { return isTrue() }
    await Task.yield()
  }
  return true
}
