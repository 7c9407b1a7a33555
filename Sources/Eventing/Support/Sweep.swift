/// `isGone` and `remove` may run a `deinit` of the user, so neither is called under a mutex.
enum Sweep {
  static var count: Int { 2 }

  static func step<Element>(_ next: () -> Element?, isGone: (Element) -> Bool, remove: (Element) -> Void) {
    for _ in 0..<count {
      if let element = next(), isGone(element) { remove(element) }
    }
  }
}
