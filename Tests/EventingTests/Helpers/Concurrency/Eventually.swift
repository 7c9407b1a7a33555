/// Polls `isTrue`, and returns whether it became true within the limit.
///
/// Polling ends early if the task is cancelled. Use it only for a change that nothing signals, such
/// as the release of an object.
func eventually(within limit: Duration = .seconds(200), _ isTrue: () -> Bool) async -> Bool {
  let deadline = ContinuousClock.now.advanced(by: limit)
  while !isTrue() {
    if ContinuousClock.now > deadline || Task.isCancelled { return isTrue() }
    await Task.yield()
  }
  return true
}
