import Eventing
import EventingLocal
import Testing

@MainActor final class Canvas {
  let picked = LocalEvent<Shape>("picked")
  var last: Shape?
  init() { picked.addHandler(owner: self) { canvas, shape in canvas.last = shape } }
}

actor Store {
  private let changed = LocalEvent<Shape>()
  private var seen: [String] = []
  func listen() { changed.addHandler(isolatedTo: self) { store, shape in store.note(shape) } }
  func change(_ name: String) -> [String] {
    changed.post(Shape(name))
    return seen
  }
  private func note(_ shape: Shape) { seen.append(shape.name) }
}

@Suite("Local events and the rest") struct ForwardTests {
  @Test("an event of the main actor, whose handlers use its state") @MainActor func mainActor() {
    let canvas = Canvas()
    canvas.picked.post(Shape("a"))
    #expect(canvas.last?.name == "a")
  }

  @Test("an event of an actor, whose handlers use its state") func inAnActor() async {
    let store = Store()
    await store.listen()
    #expect(await store.change("a") == ["a"])
    #expect(await store.change("b") == ["a", "b"])
  }

  @Test("a forward posts what a view makes to an event, until the event is released") @MainActor func forward() {
    let canvas = Canvas()
    var names: Event<String>? = Event()
    let log = Log()
    let token = canvas.picked.map(\.name).forward(to: names!)
    canvas.picked.addHandler { [log] shape in log.add("after \(shape.name)") }
    var received: [String] = []
    names?.addHandler(on: .main) { name in received.append(name) }
    canvas.picked.post(Shape("a"))
    canvas.picked.lock(token)
    canvas.picked.post(Shape("b"))
    canvas.picked.unlock(token)
    #expect(received == ["a"] && log.take() == ["after a", "after b"])
    #expect(canvas.picked.handlerCount == 3)
    names = nil
    canvas.picked.post(Shape("c"))
    #expect(received == ["a"] && canvas.picked.handlerCount == 2)
  }

  @Test("an event leads back to a local event over its owner") @MainActor func back() {
    let canvas = Canvas()
    let names = Event<String>()
    names.addHandler(on: .main, owner: canvas) { canvas, name in canvas.picked.post(Shape(name)) }
    names.post("a")
    #expect(canvas.last?.name == "a")
  }
}
