import Eventing
import Synchronization

// The request `trace` of a client: see section 3 of `Inspector/PROTOCOL.md`.
extension Connection {
  private static let lastTrace = Atomic<UInt64>(0)

  func answerTrace(_ id: RequestID, _ json: JSONValue) {
    switch json["action"] {
    case .text("start")?: startTrace(id, json)
    case .text("stop")?: stopTrace(id, json)
    default: mistake(id, "request", "expected an \"action\": \"start\" or \"stop\"")
    }
  }

  private func startTrace(_ id: RequestID, _ json: JSONValue) {
    guard case .array(let ids)? = json["events"], !ids.isEmpty else {
      return mistake(id, "request", "expected \"events\" as an array of at least one id")
    }
    var chosen: [RegisteredEvent] = []
    for each in ids {
      guard case .integer(let number) = each else {
        return mistake(id, "request", "expected \"events\" as an array of ids")
      }
      guard number > 0, let at = poller.index(of: UInt64(number)) else {
        return fail("event", "there is no event \(number)", id)
      }
      if !chosen.contains(where: { $0.id == UInt64(number) }) { chosen.append(poller.events[at].event) }
    }
    var megabytes = 4
    if let given = json["megabytes"] {
      guard case .integer(let number) = given else {
        return mistake(id, "request", "expected \"megabytes\" as a number")
      }
      megabytes = min(max(number, 1), limits.megabytes)
    }
    guard trace == nil else { return fail("busy", "expected at most 1 trace of a client", id) }
    let number = Connection.lastTrace.wrappingAdd(1, ordering: .relaxed).newValue
    trace = (number, EventTrace(of: chosen, lastMegabytes: megabytes))
    var line = JSONWriter()
    line.beginAnswer(id)
    line.pair("trace", number)
    line.pair("megabytes", megabytes)
    line.endObject()
    pending.append(PendingOutput(line: line.line()))
  }

  private func stopTrace(_ id: RequestID, _ json: JSONValue) {
    guard case .integer(let number)? = json["trace"] else { return mistake(id, "request", "expected a \"trace\"") }
    guard let (known, trace) = trace, known == UInt64(clamping: number) else {
      return fail("trace", "there is no trace \(number)", id)
    }
    poller.readDurations()
    trace.stop()
    self.trace = nil
    pending.append(PendingOutput(trace.file, of: known))
    var line = JSONWriter()
    line.beginAnswer(id)
    line.pair("trace", known)
    line.pair("count", trace.count)
    line.pair("overwritten", trace.overwrittenCount)
    line.endObject()
    pending.append(PendingOutput(line: line.line()))
  }
}
