#if DEBUG
  import Testing

  @testable import Eventing

  // A removal has two steps. First the handler's record is deactivated. Then the event's counter of
  // changes is incremented, which closes the fast path. Between the steps another thread may
  // already learn that the handler has ended. That thread increments the counter, too. Otherwise
  // its next post could take the fast path and call the handler. In these tests
  // `HandlerRecord.deactivate()` stands for the first step of another thread.
  extension RemovingTests {
    enum Told: CaseIterable, Sendable {
      case remove, bag, removeAll, lock, lockAll

      /// Calls the method that the case stands for. Returns the number of handlers that the method
      /// removed or locked. It must be 0, because the handler has ended.
      func find(_ token: HandlerToken, in event: Event<Int>, _ bag: HandlerBag) -> Int {
        switch self {
        case .remove: event.remove(token) ? 1 : 0
        case .bag: bag.removeAll()
        case .removeAll: event.removeAll(where: .named("ended"))
        case .lock: event.lock(token) ? 1 : 0
        case .lockAll: event.lockAll(where: .named("ended"))
        }
      }
    }

    @Test(arguments: Told.allCases, [true, false])
    func postsOfAThreadThatLearnedOfAHandlersEndNeverReachTheHandler(verb: Told, isInside: Bool) {
      let event = Event<Int>()
      let (bag, calls, found) = (HandlerBag(), Recorder<Int>(), Recorder<Int>())
      let tokens = ConditionLock<[HandlerToken]>([])
      let endAndFind: @Sendable () -> Void = {
        let token = tokens.withLock { $0[0] }
        #expect(token.record.deactivate())  // the first step of another thread
        found.record(verb.find(token, in: event, bag))
      }
      event.addHandler { number in if isInside, number == 2 { endAndFind() } }
      let token = event.addHandler(.named("ended")) { number in calls.record(number) }
      token.store(in: bag)
      tokens.withLock { $0 = [token] }
      for number in 0..<2 { event.post(number) }  // afterwards the fast path is open
      if !isInside { endAndFind() }
      for number in 2..<4 { event.post(number) }
      #expect(calls.values == [0, 1])
      #expect(found.values == [0])
    }
  }
#endif
