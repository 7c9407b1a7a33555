#if DEBUG
  import Testing

  @testable import Eventing

  // A handler's life is ended in one step, and that this changed something is noted in the next. Whoever is told in between that the handler is
  // gone notes it too: what that thread sends afterwards is not delivered the quick way. Here `HandlerRecord.end()` is the first step of another thread.
  extension RemovingTests {
    enum Told: CaseIterable, Sendable {
      case remove, bag, removeAll, lock, lockAll

      /// Calls the verb, which must find nothing.
      func find(_ token: HandlerToken, in event: Event<Int>, _ bag: HandlerBag) -> Int {
        switch self {
        case .remove: event.remove(token) ? 1 : 0
        case .bag: bag.removeAll()
        case .removeAll: event.remove(named: "ended")
        case .lock: event.lock(token) ? 1 : 0
        case .lockAll: event.lock(named: "ended")
        }
      }
    }

    @Test(arguments: Told.allCases, [true, false])
    func whoIsToldThatAHandlerIsGoneIsNeverHeardByIt(verb: Told, isInside: Bool) {
      let event = Event<Int>()
      let (bag, calls, found) = (HandlerBag(), Recorder<Int>(), Recorder<Int>())
      let tokens = ConditionLock<[HandlerToken]>([])
      let endAndFind: @Sendable () -> Void = {
        let token = tokens.withLock { $0[0] }
        #expect(token.record.deactivate())  // so far has another thread come
        found.record(verb.find(token, in: event, bag))
      }
      event.addHandler { number in if isInside, number == 2 { endAndFind() } }
      let token = event.addHandler(named: "ended") { number in calls.record(number) }
      token.store(in: bag)
      tokens.withLock { $0 = [token] }
      for number in 0..<2 { event.post(number) }  // nothing to decide: the quick way is open
      if !isInside { endAndFind() }
      for number in 2..<4 { event.post(number) }
      #expect(calls.values == [0, 1])
      #expect(found.values == [0])
    }
  }
#endif
