extension Duration {
  /// Whether the duration is more than a hundred years.
  ///
  /// Clocks compute deadlines in 64 bits, and stop the program if the sum overflows.
  var isForever: Bool { self > .seconds(100 * 366 * 86_400) }
}
