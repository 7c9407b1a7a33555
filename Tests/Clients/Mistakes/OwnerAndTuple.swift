// swift-format-ignore-file
// `addHandler` takes an owner and the values of a tuple one by one, unless the tuple has labels or
// the handler is isolated to an actor. There, and in `once` and `Handler`, the tuple is one value.
// error in: Plain PlainApproachable OnMain OnMainApproachable Swift5 Swift5OnMainApproachable
import Eventing

@MainActor final class Canvas {
  var size = 0

  init(_ resized: Event<(width: Int, height: Int)>, _ moved: Event<(Int, Int)>) {
    #if MENDED
      resized.addHandler(on: .main, owner: self) { canvas, size in canvas.size = size.width * size.height }
      moved.once(on: .main, owner: self) { canvas, place in canvas.size = place.0 * place.1 }
    #else
      resized.addHandler(on: .main, owner: self) { canvas, width, height in canvas.size = width * height }  // requires the types '(width: Int, height: Int)' and '(Int, Int)' be equivalent
      moved.once(on: .main, owner: self) { canvas, x, y in canvas.size = x }  // expects 2 arguments, but 3 were used in closure body // cannot assign value of type '(Int, Int)' to type 'Int'
    #endif
  }
}

actor Store {
  var area = 0

  func listen(to moved: Event<(Int, Int)>) {
    #if MENDED
      moved.addHandler(isolatedTo: self) { store, place in store.area = place.0 * place.1 }
    #else
      moved.addHandler(isolatedTo: self) { store, x, y in store.area = x * y }  // expects 2 arguments, but 3 were used in closure body // cannot convert value of type '(Int, Int)' to expected argument type 'Int'
    #endif
  }
}
