import Eventing
import EventingLocal
import Testing

/// Runs the examples of the article "When the payload isn't Sendable", and of the documentation.
@Suite("Article: when the payload isn't Sendable") struct LocalEventsArticleTests {
  // swift-format-ignore
  final class Shape {                                  // not Sendable
    var name: String
    init(_ name: String) { self.name = name }
  }

  @MainActor final class Canvas {
    let picked = LocalEvent<Shape>("picked")
    func pick(_ shape: Shape) { picked.post(shape) }
  }

  // swift-format-ignore
  @MainActor final class Panel {
    var title = ""
    init(_ canvas: Canvas) {
      canvas.picked.addHandler(owner: self) { panel, shape in panel.title = shape.name }   // ends with its owner
    }
  }

  actor Store {
    private let changed = LocalEvent<Shape>("changed")
    private var names: [String] = []
    func listen() {
      changed.addHandler(isolatedTo: self) { store, shape in store.names.append(shape.name) }
    }
    func change(_ name: String) -> [String] {
      changed.post(Shape(name))
      return names
    }
  }

  @Test @MainActor func owners() {
    let canvas = Canvas()
    var panel: Panel? = Panel(canvas)
    canvas.pick(Shape("box"))
    #expect(panel?.title == "box")
    panel = nil
    #expect(canvas.picked.handlerCount == 0)
  }

  @Test func inAnActor() async {
    weak var released: Store?
    do {
      let store = Store()
      released = store
      await store.listen()
      #expect(await store.change("box") == ["box"])
    }
    #expect(released == nil)
  }

  @Test @MainActor func toOtherThreadsAndBack() {
    let (canvas, names, found) = (Canvas(), Event<String>(), Event<String>())
    var seen: [String] = []
    names.addHandler(on: .main) { name in seen.append(name) }

    canvas.picked.map(\.name).forward(to: names)
    found.addHandler(on: .main, owner: canvas) { canvas, name in canvas.pick(Shape(name)) }

    found.post("box")
    #expect(seen == ["box"])
  }
}
