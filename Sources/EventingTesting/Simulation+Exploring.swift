// The search through all orders of the steps of a simulation.

extension Simulation {
  /// Runs a closure in every possible order, up to a number of runs.
  ///
  /// The closure must do equal things each time: it must not read a real clock, use random numbers,
  /// or depend on the order of a `Set`. The number of orders grows exponentially with the number of
  /// steps. So use this for a few tasks with a few steps each.
  ///
  /// - Parameters:
  ///   - runs: The largest number of runs.
  ///   - limit: The largest number of steps of a run.
  ///   - body: The closure to run, as a task of its own each time.
  /// - Returns: The number of runs, and whether the runs cover all orders.
  /// - Throws: The ``SimulationFailure`` of the first run that fails.
  @discardableResult public static func explore(
    atMost runs: Int = 100_000, limit: Int = 100_000, _ body: @escaping @Sendable () async throws -> Void
  ) throws -> (runs: Int, isComplete: Bool) {
    var (prefix, count): ([(choice: Int, count: Int)], Int) = ([], 0)
    while count < runs {
      let schedule = try Simulator(StepChooser(prefix), seed: nil).run(limit: limit, body)
      count += 1
      var choices = schedule.choices
      while let last = choices.last, last.choice + 1 >= last.count { choices.removeLast() }
      guard let last = choices.popLast() else { return (count, true) }
      prefix = choices + [(last.choice + 1, last.count)]
    }
    return (count, false)
  }
}
