import EventingLocal
import Testing

/// A payload that is not Sendable.
final class Shape {
  var name: String
  init(_ name: String) { self.name = name }
}

/// A log that handlers write to, and an owner of handlers. Not Sendable.
final class Log {
  var lines: [String] = []
  func add(_ line: String) { lines.append(line) }
  func take() -> [String] {
    defer { lines = [] }
    return lines
  }
}

@Suite("Local events") struct LocalEventTests {
  let event = LocalEvent<Int>("numbers")
  let log = Log()

  // MARK: Order

  @Test("handlers run by descending priority, then in the order in which they were added")
  func priorities() {
    for (name, priority) in [("a", 0), ("b", 5), ("c", -1), ("d", 0), ("e", 5), ("f", -1), ("g", 0)] {
      event.addHandler(.priority(priority)) { [log] _ in log.add(name) }
    }
    event.post(1)
    #expect(log.take() == ["b", "e", "a", "d", "g", "c", "f"])
  }

  @Test("a nested post is delivered after the current occurrence has reached every handler")
  func nestedPosts() {
    event.addHandler { [event] number in if number == 1 { for next in [2, 3] { event.post(next) } } }
    event.addHandler { [event] number in if number == 2 { event.post(4) } }
    event.addHandler { [log] number in log.add("\(number)") }
    event.post(1)
    #expect(log.take() == ["1", "2", "3", "4"])
    event.removeAll()  // the handlers retain the event
  }

  @Test("many nested posts use constant stack space") func stack() {
    var lowest = UInt.max
    var highest = UInt.min
    event.addHandler { [event] number in
      var here = 0
      let address = unsafe withUnsafePointer(to: &here) { UInt(bitPattern: $0) }
      (lowest, highest) = (min(lowest, address), max(highest, address))
      if number < 100_000 { event.post(number + 1) }
    }
    event.post(1)
    // The first call comes from `post`, the others from the drain.
    #expect(highest - lowest < 4_096)
    event.removeAll()
  }

  @Test("a payload is released after its delivery, not at the end of the queue") func payloadLifetime() {
    final class Payload {
      let number: Int
      let log: Log
      init(_ number: Int, _ log: Log) { (self.number, self.log) = (number, log) }
      deinit { log.add("released \(number)") }
    }
    let event = LocalEvent<Payload>()
    event.addHandler { [unowned event, log] payload in
      log.add("\(payload.number)")
      if payload.number == 1 { for next in [2, 3] { event.post(Payload(next, log)) } }
    }
    event.post(Payload(1, log))
    #expect(log.take().filter { $0 != "released 1" } == ["1", "2", "released 2", "3", "released 3"])
  }

  // MARK: Membership

  @Test("a handler that is added by a handler receives later occurrences only") func addedInside() {
    event.addHandler(.once) { [event, log] number in
      event.post(number + 1)
      event.addHandler { [log] number in log.add("added \(number)") }
      event.addHandler(.priority(9)) { [log] number in log.add("added first \(number)") }
      event.post(number + 2)
    }
    event.post(1)
    #expect(log.take() == ["added first 3", "added 3"])  // 2 was posted before it was added
  }

  @Test("a handler that an earlier handler removes is not called") func removedInside() {
    var token: LocalHandlerToken?
    event.addHandler { [event, log] _ in log.add("\(event.remove(token!)), \(event.remove(token!))") }
    token = event.addHandler { [log] _ in log.add("removed") }
    event.addHandler { [log] number in log.add("\(number)") }
    event.post(1)
    #expect(log.take() == ["true, false", "1"])
    #expect(event.handlerCount == 2)
    event.removeAll()
  }

  @Test("a handler may remove itself, and its closure is released after the occurrence") func removedByItself() {
    weak var captured: Shape?
    do {
      let shape = Shape("a")
      captured = shape
      var token: LocalHandlerToken?
      token = event.addHandler { [event, log] _ in
        event.remove(token!)
        log.add(shape.name)
      }
    }
    event.post(1)
    event.post(2)
    #expect(log.take() == ["a"])
    #expect(captured == nil)
  }

  @Test("removing releases the closure, whose release may use the event") func releasedClosure() {
    final class Guard {
      let done: () -> Void
      init(_ done: @escaping () -> Void) { self.done = done }
      deinit { done() }
    }
    let token: LocalHandlerToken
    do {
      let keeper = Guard { [unowned event, log] in
        event.addHandler { [log] number in log.add("\(number)") }
        event.post(7)
        log.add("count \(event.handlerCount)")
      }
      token = event.addHandler { _ in _ = keeper }
    }
    #expect(event.remove(token))
    #expect(log.take() == ["7", "count 1"])
  }

  @Test("a once handler is called once, under nested posts too") func once() {
    event.addHandler(.once) { [event, log] number in
      if number < 5 { event.post(number + 1) }
      log.add("once \(number)")
    }
    event.addHandler { [log] number in log.add("\(number)") }
    event.post(1)
    #expect(log.take() == ["once 1", "1", "2"])
    #expect(event.handlerCount == 1)
  }

  @Test("a token is a no-op when it is used twice, late, or on another event") func tokens() {
    let token = event.addHandler { _ in }
    let other = LocalEvent<Int>()
    let same = other.addHandler { _ in }
    #expect(token != same && !other.remove(token) && !other.lock(token) && !other.contains(token))
    #expect(event.contains(token) && event.remove(token))
    #expect(!event.contains(token) && !event.remove(token) && !event.lock(token) && !event.unlock(token))
    #expect(Set([token, same, token]).count == 2)
  }

  @Test("filters select by name and owner") func filters() {
    event.addHandler(.named("a")) { [log] _ in log.add("a") }
    event.addHandler(.named("b"), owner: log) { log, _ in log.add("b") }
    event.addHandler(owner: log) { log, _ in log.add("owned") }
    event.addHandler { [log] _ in log.add("plain") }
    #expect(event.lockAll(where: .named("a", "b")) == 2)
    event.post(1)
    #expect(log.take() == ["owned", "plain"])
    #expect(event.unlockAll() == 4 && event.removeAll(where: .ownedBy(log)) == 2)
    event.post(1)
    #expect(log.take() == ["a", "plain"])
    #expect(event.removeAll() == 2 && event.handlerCount == 0)
  }

  // MARK: Locks

  @Test("a locked handler is silent, and keeps its place and its once") func locks() {
    let token = event.addHandler(.once) { [log] number in log.add("once \(number)") }
    event.addHandler { [log] number in log.add("\(number)") }
    #expect(event.lock(token) && event.lock(token) && event.isLocked(token))
    event.post(1)
    #expect(event.unlock(token) && !event.isLocked(token))
    event.post(2)
    #expect(log.take() == ["1", "once 2", "2"])
  }

  @Test("a lock holds at once inside a handler") func lockedInside() {
    var token: LocalHandlerToken?
    event.addHandler(.named("first")) { [event, log] number in
      if number == 1 { event.lock(token!) } else { event.lock() }
      log.add("\(number)")
    }
    token = event.addHandler { [log] number in log.add("second \(number)") }
    event.post(1)
    event.unlock(token!)
    event.post(2)
    event.post(3)
    #expect(log.take() == ["1", "2"] && event.isLocked && !event.isLocked(token!))
    event.removeAll()
  }

  @Test("the locks of a handler, of a scope and of the event are independent") func independentLocks() throws {
    struct Failure: Error {}
    let token = event.addHandler { [log] number in log.add("\(number)") }
    event.lock()
    event.addHandler { [log] number in log.add("late \(number)") }
    event.post(1)
    event.unlock(token)
    event.post(2)
    event.lock(token)
    event.unlock()
    event.post(3)
    event.unlock(token)
    #expect(throws: Failure.self) {
      try event.withLocked(token) {
        event.withLocked(token) { event.post(4) }
        event.lock(token)
        event.unlock(token)
        event.post(5)
        #expect(event.isLocked(token))
        throw Failure()
      }
    }
    event.post(6)
    #expect(log.take() == ["late 3", "late 4", "late 5", "6", "late 6"])
  }

  // MARK: Owners

  @Test("a handler ends with its owner, and is not called for another object at the address") func owners() {
    var owner: Log? = Log()
    weak let released = owner
    let token = event.addHandler(owner: owner!) { [log] _, number in log.add("\(number)") }
    event.post(1)
    #expect(event.handlerCount == 1)
    owner = nil
    #expect(released == nil && event.handlerCount == 0 && !event.contains(token) && !event.remove(token))
    let others = (0..<100).map { _ in Log() }
    event.post(2)
    #expect(log.take() == ["1"] && others.count == 100)
  }

  @Test("an owner that a handler releases is held for the length of its call only") func ownerReleasedInside() {
    final class Owner {
      let log: Log
      init(_ log: Log) { self.log = log }
      deinit { log.add("released") }
    }
    var owner: Owner? = Owner(log)
    event.addHandler(owner: owner!) { owner, number in
      release()
      owner.log.add("\(number)")
    }
    event.addHandler(owner: owner!) { owner, number in owner.log.add("second \(number)") }
    func release() { owner = nil }
    event.post(1)
    #expect(log.take() == ["1", "released"])
  }

  @Test("records of released owners are reclaimed at a post, and as handlers are added") func reclaimed() {
    weak var captured: Shape?
    func addOne() {
      let shape = Shape("a")
      captured = shape
      event.addHandler(owner: Log()) { _, _ in _ = shape }
    }
    addOne()
    #expect(captured != nil)
    event.post(1)
    #expect(captured == nil)
    addOne()
    for _ in 0..<40 { event.addHandler(owner: Log()) { _, _ in } }
    #expect(captured == nil)
  }

  // MARK: Views, interceptors, forwards

  @Test("views convert and filter, and a filtered occurrence leaves a once handler") func views() {
    let halves = event.filter { $0.isMultiple(of: 2) }.map { $0 / 2 }
    halves.addHandler(.once) { [log] half in log.add("once \(half)") }
    let token = halves.addHandler(.priority(1), owner: log) { log, half in log.add("\(half)") }
    event.compactMap { $0 == 3 ? "three" : nil }.addHandler { [log] text in log.add(text) }
    for number in 1...4 { event.post(number) }
    #expect(log.take() == ["1", "once 1", "three", "2"])
    #expect(halves.remove(token) && !halves.remove(token) && event.handlerCount == 1)
  }

  @Test("a view's closure may remove or lock its handler, and is not called for a silent one") func viewsThatChange() {
    var token: LocalHandlerToken?
    let view = event.map { [event, log] number in
      log.add("map \(number)")
      if number == 2 { event.lock(token!) }
      if number == 4 { event.remove(token!) }
      return number
    }
    token = view.addHandler { [log] number in log.add("\(number)") }
    for number in 1...3 { event.post(number) }
    event.unlock(token!)
    for number in 4...5 { event.post(number) }
    #expect(log.take() == ["map 1", "1", "map 2", "map 4"])

    var owner: Log? = Log()
    event.map { [log] number in log.add("map \(number)") }.addHandler(owner: owner!) { _, _ in }
    owner = nil
    event.post(6)
    #expect(log.take() == [])
  }

  @Test("an interceptor stops an occurrence, or changes what later handlers receive") func interceptors() {
    var guest: Log? = Log()
    event.addHandler(.priority(9)) { [log] number in log.add("before \(number)") }
    let token = event.intercept(.priority(5)) { number in
      switch number {
      case 1: .proceed
      case 2: .proceed(with: 20)
      default: .stop
      }
    }
    event.intercept(.priority(4), owner: guest!) { _, number in .proceed(with: number + 1) }
    event.addHandler(.once) { [log] number in log.add("once \(number)") }
    event.addHandler { [log] number in log.add("\(number)") }
    for number in [3, 1, 2] { event.post(number) }
    #expect(log.take() == ["before 3", "before 1", "once 2", "2", "before 2", "21"])
    event.lock(token)
    guest = nil
    event.post(3)
    #expect(log.take() == ["before 3", "3"])
  }

  @Test("a signal has no payload, and an owner's handler takes the owner alone") func signals() {
    let closed = LocalEvent<Void>()
    closed.addHandler { [log] in log.add("closed") }
    closed.addHandler(owner: log) { log in log.add("with an owner") }
    closed.post()
    #expect(log.take() == ["closed", "with an owner"])
  }

  @Test("payloads that are not Sendable") func notSendable() {
    let picked = LocalEvent<Shape>("picked")
    picked.addHandler { shape in shape.name += "!" }
    picked.addHandler(owner: log) { log, shape in log.add(shape.name) }
    picked.map(\.name).filter { $0.count > 3 }.addHandler { [log] name in log.add(name) }
    let shape = Shape("box")
    picked.post(shape)
    #expect(log.take() == ["box!", "box!"] && shape.name == "box!")
    #expect("\(picked)" == "local event \"picked\" of Shape" && "\(LocalEvent<Int>())" == "local event of Int")
  }

  @Test("an event releases its handlers, and nothing else keeps it") func lifetime() {
    weak var released: LocalEvent<Shape>?
    weak var captured: Shape?
    do {
      let event = LocalEvent<Shape>()
      let shape = Shape("a")
      (released, captured) = (event, shape)
      let token = event.addHandler { _ in _ = shape }
      event.intercept { _ in .proceed }
      event.post(shape)
      withExtendedLifetime(token) {}
    }
    #expect(released == nil && captured == nil)
  }
}
