extension Duration {
  /// Whether it is more than a hundred years.
  ///
  /// Clocks compute deadlines in 64 flags, and stop the program if such a sum overflows.
  var isForever: Bool { self > .seconds(100 * 366 * 86_400) }
}
