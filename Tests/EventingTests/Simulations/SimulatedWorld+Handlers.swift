import Eventing
import EventingTesting

// Actions of handlers.
extension SimulatedWorld {
  func called(_ number: Int, _ send: Int, _ canary: Canary) throws {
    if send < 0 { return noteAnnouncement(number, of: ~send) }
    note(number, send)
    defer { handlers[number].running -= 1 }
    switch handlers[number].reaction {
    case .posts:
      if nested < 12 {
        nested += 1
        post(-1)
      }
    default: react(number)
    }
    if handlers[number].reaction == .throwsAnError, send % 3 == 0 { throw Refused() }
    withExtendedLifetime(canary) {}
  }

  func calledAsync(_ number: Int, _ number2: Int, _ canary: Canary) async throws {
    if number2 < 0 { return noteAnnouncement(number, of: ~number2) }
    note(number, number2)
    defer { handlers[number].running -= 1 }
    switch handlers[number].reaction {
    case .yields:
      await Task.yield()
      await Task.yield()
    case .sends:
      if nested < 12 {
        nested += 1
        await send(-1)
      }
    case .posts:
      if nested < 12 {
        nested += 1
        post(-1)
      }
    default:
      react(number)
      await Task.yield()
    }
    let isFirst = handlers[number].place.isRetried && handlers[number].attempted.insert(number2).inserted
    if isFirst && number2 % 3 == 1 || handlers[number].reaction == .throwsAnError && number2 % 3 == 0 {
      if isFirst { handlers[number].failed.insert(number2) }
      throw Refused()
    }
    withExtendedLifetime(canary) {}
  }

  func calledWithBatch(_ number: Int, _ batch: [Int], _ canary: Canary) async throws {
    if batch.isEmpty || batch.count > 2 { fail("H5: handler \(number) was called with \(batch.count) payloads") }
    for (place, send) in batch.enumerated() {
      if place > 0 { handlers[number].running -= 1 }
      note(number, send, isInBatch: place > 0)
    }
    defer { handlers[number].running -= 1 }
    react(number)
    await Task.yield()
    withExtendedLifetime(canary) {}
  }

  func react(_ number: Int) {
    guard !isClosing else { return }
    switch handlers[number].reaction {
    case .postsAndLocks:
      if nested < 12 {
        nested += 1
        post(-1)
        toggleLock(below(handlers.count))
        post(-1)
      }
    case .removesItself: if handlers[number].calls.count == 2 { remove(number) }
    case .adds: if handlers.count < 16 { add(pick(places)) }
    case .lockOther: toggleLock(below(handlers.count))
    case .removesOther: if handlers[number].calls.count == 3 { remove(below(handlers.count)) }
    case .nothing, .yields, .posts, .sends, .throwsAnError: break
    }
  }

  /// Checks and records a call. Each call begins with this.
  func note(_ number: Int, _ send: Int, isInBatch: Bool = false) {
    let now = tick()
    let handler = handlers[number]
    if sends[send].call < handler.addCall, !mode.replays {
      fail("G6: handler \(number) was called with \(send), sent before it was added")
    }
    if let address = handler.address, sends[send].address != address {
      fail("G21: handler \(number) was called with \(send), sent to another object")
    }
    if handler.removeReturn != nil { fail("G7: handler \(number) was called with \(send) after its removal") }
    if isMute(number) { fail("G9: handler \(number), \(handler.place), was called with \(send) under a lock") }
    // Handler 0 is the first of all. So an inline handler that no lock of its own has held back is
    // called while the event delivers what handler 0 was called with last.
    if handler.place == .inline, number > 0, !handler.wasLocked, !mode.replays, handlers[0].calls.last?.send != send {
      fail("G1: handler \(number) was called with \(send), not with \(handlers[0].calls.last?.send ?? -1)")
    }
    if handlers[number].failed.remove(send) != nil {
      // This is the second attempt: no other call, of its key, may have come between the two.
      let last = handler.calls.last { !handler.place.isKeyed || $0.send % 2 == send % 2 }
      if last?.send != send { fail("H1: handler \(number) was called between two attempts") }
      handlers[number].running += 1
      return
    }
    if handler.isOnce, !handler.calls.isEmpty, !isInBatch {
      fail("G8: handler \(number) was called again, with \(send)")
    }
    if handler.calls.contains(where: { $0.send == send }) {
      fail("G21: handler \(number) was called twice with \(send)")
    }
    if handler.running > 0, handler.place.isInOrder, handler.place != .inline {
      fail("G13: handler \(number) was called while a call of it was running")
    }
    if handler.running >= 2, handler.place == .concurrent { fail("G13: three calls of handler \(number)") }
    if send < settled, !mode.holds, !mode.replays {
      fail("G7: handler \(number) was called with \(send) after quiesce")
    }
    handlers[number].calls.append((send, now))
    handlers[number].running += 1
  }
}
