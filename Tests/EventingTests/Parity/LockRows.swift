import Eventing
import Testing

/// Tests of features 57 to 69 of AFFEvent, IKEvents and emitter-kit: locks.
@Suite(.fewAtATime) struct LockRows {
  let event = Event<Int>()
  let seen = Recorder<String>()

  /// Adds handlers that record their names, and returns their tokens in the order of the names.
  private func add(_ names: String...) -> [HandlerToken] {
    names.map { [seen] name in event.addHandler(.named(name)) { _ in seen.record(name) } }
  }

  private func heard() -> String {
    seen.removeAll()
    event.post(1)
    return seen.values.joined()
  }

  @Test("57: one handler is locked")
  func oneHandlerIsLocked() async {
    let tokens = add("a", "b", "b", "c")
    #expect(event.lock(tokens[1]))
    #expect(heard() == "abc")
    #expect(await event.send(1).skipped == 1)
  }

  @Test("58: one handler is unlocked")
  func oneHandlerIsUnlocked() {
    let tokens = add("a", "b", "c")
    event.lockAll()
    #expect(event.unlock(tokens[1]))
    #expect(heard() == "b")
    event.remove(tokens[0])
    #expect(!event.unlock(tokens[0]))
  }

  @Test("59: a name locks all handlers that have it")
  func aNameLocksAllHandlersThatHaveIt() {
    _ = add("a", "x", "b", "x")
    #expect(event.lockAll(where: .named("x")) == 2)
    #expect(heard() == "ab")
    #expect(event.unlockAll(where: .named("x")) == 2)
    #expect(heard() == "axbx")
    #expect(event.lockAll(where: .named("y")) == 0)
  }

  @Test("60: several handlers or names are locked together")
  func severalHandlersOrNamesAreLockedTogether() {
    let tokens = add("a", "b", "c", "x", "y", "x")
    #expect(event.lockAll(where: .oneOf([tokens[0], tokens[1]])) == 2)
    #expect(event.lockAll(where: .named("x", "y")) == 3)
    #expect(heard() == "c")
    #expect(event.unlockAll(where: .oneOf([tokens[0], tokens[2]])) == 2)
    #expect(event.unlockAll(where: .named("y", "z")) == 1)
    #expect(heard() == "acy")
  }

  @Test("61: all handlers or all of a kind are locked")
  func allHandlersOrAllOfAKindAreLocked() {
    _ = add("a", "b")
    event.addHandler(.tagged("kind")) { [seen] _ in seen.record("t") }
    #expect(event.lockAll() == 3)
    #expect(heard() == "")
    #expect(event.unlockAll(where: .tagged("kind")) == 1)
    #expect(heard() == "t")
    #expect(event.unlockAll() == 3)
    #expect(event.lockAll(where: .tagged("kind")) == 1)
    #expect(heard() == "ab")
  }

  @Test("62: the handlers of an owner are locked")
  func theHandlersOfAnOwnerAreLocked() {
    let (mine, others) = (Lookalike(), Lookalike())
    event.addHandler(owner: mine) { [seen] _, _ in seen.record("mine") }
    event.addHandler(owner: others) { [seen] _, _ in seen.record("others") }
    #expect(event.lockAll(where: .ownedBy(mine)) == 1)
    #expect(heard() == "others")
    #expect(event.unlockAll(where: .ownedBy(mine)) == 1)
    #expect(heard() == "mineothers")
    withExtendedLifetime((mine, others)) {}
  }

  @Test("63: isLocked tells whether a handler is locked")
  func isLockedTellsWhetherAHandlerIsLocked() {
    let tokens = add("a", "b")
    event.lock(tokens[0])
    #expect(event.isLocked(tokens[0]))
    #expect(!event.isLocked(tokens[1]))
    event.remove(tokens[1])
    #expect(!event.isLocked(tokens[1]))
    #expect(!Event<Int>().isLocked(tokens[0]))
  }

  @Test("64: locked and unlocked handlers are listed")
  func lockedAndUnlockedHandlersAreListed() async {
    let tokens = add("a", "b", "c")
    event.lockAll(where: .oneOf([tokens[0], tokens[2]]))
    #expect(await event.handlers().filter(\.isLocked).map(\.name) == ["a", "c"])
    #expect(await event.handlers().filter({ !$0.isLocked }).map(\.name) == ["b"])
    #expect(await event.handlers().map(\.isLocked) == [true, false, true])
  }

  @Test("65: locking twice is locking once")
  func lockingTwiceIsLockingOnce() {
    let tokens = add("a")
    #expect(event.lock(tokens[0]) && event.lock(tokens[0]))
    #expect(event.unlock(tokens[0]))
    #expect(heard() == "a")
    #expect(event.unlock(tokens[0]))
  }

  @Test("66: a locked handler keeps its place")
  func aLockedHandlerKeepsItsPlace() {
    let tokens = add("a", "b", "c")
    event.lock(tokens[0])
    #expect(heard() == "bc")
    _ = add("d")
    event.unlock(tokens[0])
    #expect(heard() == "abcd")
  }

  @Test("67: a handler that an earlier one locks is skipped")
  func aHandlerThatAnEarlierOneLocksIsSkipped() async {
    event.addHandler { [weak event] _ in event?.lockAll(where: .named("b")) }
    let tokens = add("a", "b")
    let report = await event.send(1)
    #expect(report.delivered == 2)
    #expect(report.skipped == 1)
    #expect(seen.values == ["a"])
    #expect(event.isLocked(tokens[1]))
  }

  @Test("68: handlers that are added after lockAll are not locked")
  func handlersThatAreAddedAfterLockAllAreNotLocked() {
    _ = add("a", "b")
    event.lockAll()
    let later = add("c")
    #expect(heard() == "c")
    #expect(!event.isLocked(later[0]))
  }

  @Test("69: the event lock covers handlers added later")
  func theEventLockCoversHandlersAddedLater() async {
    let tokens = add("a", "b")
    event.lock(tokens[0])
    event.lock()
    _ = add("c")
    #expect(event.isLocked)
    #expect(await event.send(1).skipped == 3)
    event.unlock()
    #expect(heard() == "bc")  // handler a has a lock of its own, which stays
  }
}
