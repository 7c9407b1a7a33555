import Eventing

// The requests of a client: see section 3 of `Inspector/PROTOCOL.md`.
extension Connection {
  func answer(_ line: ArraySlice<UInt8>, at now: UInt64) {
    guard let json = JSONValue(line), case .object = json else {
      return mistake(nil, "json", "expected a JSON object")
    }
    guard let id = RequestID(json["id"]) else {
      return mistake(nil, "request", "expected an \"id\": an integer, or a text of at most 64 bytes")
    }
    guard case .text(let name)? = json["do"] else { return mistake(id, "request", "expected a \"do\"") }
    if !hasSaidHello { return sendHello(id, name, json) }
    switch name {
    case "hello": mistake(id, "request", "expected one hello")
    case "snapshot", "warnings":
      guard let (parts, events) = selection(id, json, isAllowed: name == "snapshot") else { return }
      pending.append(
        PendingOutput(answering: id, name == "warnings" ? .warnings : parts, events, isAlone: name == "warnings"))
    case "subscribe": subscribe(id, json, at: now)
    case "unsubscribe": unsubscribe(id, json)
    case "trace": answerTrace(id, json)
    case "lock", "unlock": setLock(id, json, isLocked: name == "lock")
    case "perform": perform(id, json)
    default: mistake(id, "unknown", "there is no request \"\(name.prefix(64))\"")
    }
    fill()
  }

  private func sendHello(_ id: RequestID, _ name: String, _ json: JSONValue) {
    guard name == "hello", case .integer(let version)? = json["protocol"] else {
      malformed += 1
      return fail("hello", "expected a hello with a \"protocol\"", id, closes: true)
    }
    guard version == 1 else { return fail("version", "expected protocol 1", id, closes: true, supported: true) }
    hasSaidHello = true
    hasControl = allowsControl && json["control"] == .bool(true)
    var line = JSONWriter()
    line.beginAnswer(id)
    line.pair("protocol", 1)
    line.pair("control", hasControl)
    line.endObject()
    pending.append(PendingOutput(line: line.line()))
    fill()
  }

  private func selection(_ id: RequestID, _ json: JSONValue, isAllowed: Bool) -> (Parts, Set<UInt64>?)? {
    guard isAllowed else { return (.warnings, nil) }
    var (parts, events): (Parts, Set<UInt64>?) = (.all, nil)
    if let given = json["parts"] {
      parts = []
      guard case .array(let names) = given else {
        mistake(id, "request", "expected \"parts\" as an array")
        return nil
      }
      for name in names {
        guard case .text(let text) = name, let known = Parts.named.first(where: { "\($0.name)" == text }) else {
          mistake(id, "request", "expected parts of events, handlers, graph, waits, warnings, tables")
          return nil
        }
        parts.insert(known.part)
      }
    }
    if let given = json["events"] {
      guard case .array(let ids) = given else {
        mistake(id, "request", "expected \"events\" as an array")
        return nil
      }
      var chosen: Set<UInt64> = []
      for each in ids {
        guard case .integer(let number) = each else {
          mistake(id, "request", "expected \"events\" as an array of ids")
          return nil
        }
        guard number > 0, poller.index(of: UInt64(number)) != nil else {
          fail("event", "there is no event \(number)", id)
          return nil
        }
        chosen.insert(UInt64(number))
      }
      events = chosen
    }
    return (parts, events)
  }

  private func subscribe(_ id: RequestID, _ json: JSONValue, at now: UInt64) {
    guard let (parts, events) = selection(id, json, isAllowed: true) else { return }
    var interval = 250
    if let given = json["interval"] {
      guard case .integer(let milliseconds) = given else {
        return mistake(id, "request", "expected \"interval\" as milliseconds")
      }
      interval = min(max(milliseconds, limits.intervals.lowerBound), limits.intervals.upperBound)
    }
    guard subscriptions.count < limits.subscriptions else {
      return fail("busy", "expected at most \(limits.subscriptions) subscriptions", id)
    }
    lastSubscription = Subscription.nextID()
    subscriptions.append(
      Subscription(
        id: lastSubscription, interval: UInt64(interval) * 1_000_000, parts: parts, events: events, nextAt: now))
    var line = JSONWriter()
    line.beginAnswer(id)
    line.pair("sub", lastSubscription)
    line.pair("interval", interval)
    line.endObject()
    pending.append(PendingOutput(line: line.line()))
  }

  private func unsubscribe(_ id: RequestID, _ json: JSONValue) {
    guard case .integer(let number)? = json["sub"] else { return mistake(id, "request", "expected a \"sub\"") }
    guard let at = subscriptions.firstIndex(where: { $0.id == UInt64(clamping: number) }) else {
      return fail("sub", "there is no subscription \(number)", id)
    }
    let gone = subscriptions.remove(at: at).id
    pending.removeAll { $0.subscription == gone }
    var line = JSONWriter()
    line.beginAnswer(id)
    line.endObject()
    pending.append(PendingOutput(line: line.line()))
  }

  private func setLock(_ id: RequestID, _ json: JSONValue, isLocked: Bool) {
    guard hasControl else { return fail("control", "control is not allowed on both sides", id) }
    guard case .integer(let event)? = json["event"] else { return mistake(id, "request", "expected an \"event\"") }
    var handler: UInt64?
    switch json["handler"] {
    case nil, .null?: break
    case .integer(let number)?: handler = UInt64(clamping: number)
    default: return mistake(id, "request", "expected \"handler\" as an id or null")
    }
    let holding: Buffering?
    switch json["holding"] {
    case nil, .text("nothing")?: holding = nil
    case .text("latest")?: holding = .latest
    case .integer(let count)? where count > 0: holding = .oldest(count)
    default: return mistake(id, "request", "expected \"holding\" as \"nothing\", \"latest\" or a number")
    }
    guard let at = poller.index(of: UInt64(clamping: event)) else {
      return fail("event", "there is no event \(event)", id)
    }
    let answer = laterAnswer()
    poller.events[at].event.setLocked(isLocked, handler: handler, holding: holding) { isFound in
      var line = JSONWriter()
      line.beginAnswer(id)
      line.pair("found", isFound)
      line.endObject()
      answer(line.line())
    }
  }

  private func perform(_ id: RequestID, _ json: JSONValue) {
    guard hasControl else { return fail("control", "control is not allowed on both sides", id) }
    guard case .integer(let number)? = json["table"], case .array(let given)? = json["rows"],
      case .integer(let latest)? = json["latest"], case .text(let action)? = json["action"]
    else { return mistake(id, "request", "expected a \"table\", its \"latest\", an \"action\" and \"rows\"") }
    let rows = given.compactMap { row in if case .integer(let id) = row { UInt64(exactly: id) } else { nil } }
    guard rows.count == given.count else { return mistake(id, "request", "expected \"rows\" as an array of ids") }
    guard let table = InspectedTables.current.first(where: { $0.id == UInt64(clamping: number) })?.table else {
      return fail("table", "there is no table \(number)", id)
    }
    guard table.actions.contains(action) else {
      return mistake(id, "request", "expected an action of \(table.actions.joined(separator: ", "))")
    }
    let answer = laterAnswer()
    Scheduling.task(priority: nil, on: nil) {
      do {
        let count = try await table.perform(action, on: Set(rows), upTo: UInt64(clamping: latest))
        var line = JSONWriter()
        line.beginAnswer(id)
        line.pair("count", count)
        line.endObject()
        answer(line.line())
      } catch {
        answer(JSONWriter.error("action", "\(error)", id))
      }
    }
  }

  /// Returns a function that any thread calls once, with the line of the answer.
  private func laterAnswer() -> @Sendable ([UInt8]) -> Void {
    laterCount += 1
    let (answers, wake) = (laterAnswers, wake)
    return { line in
      answers.withLock { $0.append(line) }
      wake()
    }
  }

  func sendLaterAnswers() {
    let answers = laterAnswers.withLock { answers in
      defer { answers = [] }
      return answers
    }
    laterCount -= answers.count
    for line in answers where !isEnding { pending.append(PendingOutput(line: line)) }
  }

  // MARK: Errors

  /// Ends the connection after ``ClientLimits/mistakes``, or before the hello.
  func mistake(_ id: RequestID?, _ code: String, _ message: String) {
    mistakes += 1
    malformed += 1
    if hasSaidHello {
      fail(code, message, id, closes: mistakes >= limits.mistakes)
    } else {
      fail("hello", "expected a hello first", id, closes: true)
    }
  }

  func fail(
    _ code: String, _ message: String, _ id: RequestID? = nil, closes: Bool = false, supported: Bool = false
  ) {
    pending.append(PendingOutput(line: JSONWriter.error(code, message, id, supported: supported)))
    if closes {
      isEnding = true
      subscriptions = []
    }
    fill()
  }
}
