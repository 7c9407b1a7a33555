// swift-format-ignore-file
// A function is the argument `perform:`; without a label the arguments are options.
// error in: Plain PlainApproachable OnMain OnMainApproachable Swift5OnMainApproachable
import Eventing

nonisolated func audit(_ order: Int) { print(order) }

func listen(to orders: Event<Int>) {
  #if MENDED
    orders.addHandler(perform: audit)
  #else
    orders.addHandler(audit)  // 'addHandler' is unavailable: a function is the argument 'perform:': addHandler(perform: function)
  #endif
}
