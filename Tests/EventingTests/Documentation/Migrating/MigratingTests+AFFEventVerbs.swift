import Eventing
import Testing

extension MigratingTests {
  /// An event with three handlers. The tag of each says what it stands for in AFFEvent: one stands
  /// for a method of the ledger, two for blocks.
  private struct World {
    let orderPlaced = Event<Order>()
    let ledger = Ledger()
    let booking: HandlerToken
    let mailing: HandlerToken

    init() {
      let book = Handler<Order>(.named("book"), .tagged("methods"), owner: ledger) { _, _ in }
      let mail = Handler<Order>(.named("mail"), .tagged("blocks")) { _ in }
      booking = orderPlaced.add(book)
      mailing = orderPlaced.add(mail)
      orderPlaced.addHandler(.named("print"), .tagged("blocks")) { _ in }
    }

    /// The names of the handlers that a send calls now.
    var heard: Set<String> {
      get async {
        let before = await orderPlaced.handlers()
        await orderPlaced.send(Order())
        let after = await orderPlaced.handlers()
        let called = zip(before, after).filter { $0.callCount < $1.callCount }
        return withExtendedLifetime(ledger) { Set(called.compactMap(\.1.name)) }
      }
    }
  }

  @Test func handlersAreLockedOneByOne() async {
    let world = World()
    let (orderPlaced, booking, mailing) = (world.orderPlaced, world.booking, world.mailing)
    orderPlaced.lock(booking)
    #expect(await world.heard == ["mail", "print"])
    orderPlaced.unlock(booking)
    #expect(await world.heard == ["book", "mail", "print"])

    orderPlaced.lockAll(where: .oneOf([booking, mailing]))
    #expect(await world.heard == ["print"])
    orderPlaced.unlockAll(where: .oneOf([booking, mailing]))
    #expect(await world.heard == ["book", "mail", "print"])
  }

  @Test func handlersAreLockedByTag() async {
    let world = World()
    let orderPlaced = world.orderPlaced
    orderPlaced.lockAll(where: .tagged("methods"))
    #expect(await world.heard == ["mail", "print"])
    orderPlaced.lockAll(where: .tagged("blocks"))
    #expect(await world.heard == [])
    orderPlaced.unlockAll(where: .tagged("methods"))
    #expect(await world.heard == ["book"])
    orderPlaced.unlockAll(where: .tagged("blocks"))
    #expect(await world.heard == ["book", "mail", "print"])
  }

  @Test func handlersAreLockedByName() async {
    let world = World()
    let orderPlaced = world.orderPlaced
    orderPlaced.lockAll(where: .named("mail"))
    #expect(await world.heard == ["book", "print"])
    orderPlaced.unlockAll(where: .named("mail"))
    orderPlaced.lockAll(where: .named("mail", "print"))
    #expect(await world.heard == ["book"])
    orderPlaced.unlockAll(where: .named("mail", "print"))
    #expect(await world.heard == ["book", "mail", "print"])
  }

  @Test func allHandlersAreLockedOrTheEventItself() async {
    let world = World()
    let orderPlaced = world.orderPlaced
    orderPlaced.lockAll()
    orderPlaced.addHandler(.named("late")) { _ in }
    #expect(await world.heard == ["late"])
    orderPlaced.unlockAll()
    #expect(await world.heard == ["book", "mail", "print", "late"])

    orderPlaced.lock()
    orderPlaced.addHandler(.named("later")) { _ in }
    #expect(await world.heard == [])
    orderPlaced.unlock()
    #expect(await world.heard == ["book", "mail", "print", "late", "later"])
  }

  @Test func handlersAreRemovedOneByOne() async {
    let world = World()
    let (orderPlaced, booking, mailing) = (world.orderPlaced, world.booking, world.mailing)
    orderPlaced.remove(booking)
    #expect(await world.heard == ["mail", "print"])
    orderPlaced.removeAll(where: .oneOf([booking, mailing]))
    #expect(await world.heard == ["print"])
    orderPlaced.removeAll()
    #expect(orderPlaced.handlerCount == 0)
  }

  @Test func handlersAreRemovedByOwnerTagAndName() async {
    var world = World()
    var (orderPlaced, ledger) = (world.orderPlaced, world.ledger)
    orderPlaced.removeAll(where: .ownedBy(ledger))
    #expect(await world.heard == ["mail", "print"])
    orderPlaced.removeAll(where: .named("mail"))
    #expect(await world.heard == ["print"])

    world = World()
    (orderPlaced, ledger) = (world.orderPlaced, world.ledger)
    orderPlaced.removeAll(where: .tagged("methods"))
    #expect(await world.heard == ["mail", "print"])
    orderPlaced.removeAll(where: .tagged("blocks"))
    #expect(orderPlaced.handlerCount == 0)

    world = World()
    orderPlaced = world.orderPlaced
    orderPlaced.removeAll(where: .named("mail", "print"))
    #expect(await world.heard == ["book"])
  }
}
