import Eventing

struct PolledWarning {
  enum Code: String { case stuck, backlog, dropping, flood, unheard, many, failing, deferred }

  let id: UInt64
  let code: Code
  let event: UInt64
  var handler: UInt64?
  let since: UInt64
  var count: Int
  let limit: Int
  var text: String
  var version: UInt64
  /// When a poll last found the cause.
  var seenAt: UInt64
}

/// A warning stays until no poll has found its cause for ten seconds, or for one second if it is
/// `stuck` or `flood`.
final class Warnings {
  private struct Key: Hashable {
    let code: PolledWarning.Code
    let event: UInt64
    let handler: UInt64?
    /// For the code `many`, the line at which the counted handlers were added. Identifies the
    /// warning even after the handler that its row names has gone.
    var line: String?
  }

  private static let second: UInt64 = 1_000_000_000
  private static let backlogLimit = 1_024

  private var known: [Key: PolledWarning] = [:]
  private var last: UInt64 = 0
  /// The highest `id` of the waits that warnings were made of; 0 for none.
  private var lastEnded: UInt64 = 0

  var all: [PolledWarning] { known.values.sorted { $0.id < $1.id } }

  /// What usually takes long is not stuck: nothing is before it has run for twice as long as the
  /// longest one that has ended.
  private static func usual(_ longest: UInt64) -> UInt64 { max(second, 2 * longest) }

  func removeAll() { (known, lastEnded) = ([:], 0) }

  /// Also removes warnings whose cause has been gone for long enough.
  func find(in poller: Poller) {
    let (now, tick) = (poller.polledAt, poller.tick)
    func found(
      _ code: PolledWarning.Code, _ polled: PolledEvent, _ handler: UInt64? = nil, count: Int, limit: Int,
      _ text: @autoclosure () -> String
    ) { note(Key(code: code, event: polled.id, handler: handler), count, limit, text(), now, tick) }
    // The text about a stuck call also says which handlers and which event the call waits for, if
    // the library knows of its wait.
    var waits: [UInt64: PolledWait] = [:]
    for (wait, _) in poller.waits { if let caller = wait.by { waits[caller] = wait } }
    for polled in poller.events {
      let reading = polled.reading
      let usual = Self.usual(polled.longestDelivery)
      if let busyAt = polled.busyAt, now.since(busyAt) >= usual {
        found(
          .stuck, polled, count: milliseconds(now.since(busyAt)), limit: milliseconds(usual),
          "A delivery of \(Self.title(polled)) has not ended.")
      }
      if grows(&polled.before, reading.waiting, now) {
        found(
          .backlog, polled, count: reading.waiting, limit: Self.backlogLimit,
          "\(Self.number(reading.waiting)) occurrences wait for \(Self.title(polled)), and their number grows.")
      }
      if reading.isOverloaded {
        found(
          .flood, polled, count: reading.waiting, limit: Self.backlogLimit,
          "Posts to \(Self.title(polled)) are slowed down, because \(Self.number(reading.waiting)) occurrences wait.")
      }
      let sent = reading.sequence - min(reading.sequence, polled.event.sequenceBefore)
      if sent > 0, !polled.wasHeard, now.since(polled.event.joinedAt) >= 10 * Self.second,
        reading.handlerCount > 0
          ? Self.hasPassedBy(polled) : !polled.event.wasEverHandled && polled.event.kind != .observed
      {
        found(
          .unheard, polled, count: Int(clamping: sent), limit: 0,
          "\(Self.title(polled)) was sent \(Self.number(Int(clamping: sent))) times, and no handler was called.")
      }
      if polled.handlers.count > 100 { findMany(polled, now, tick) }
      for index in polled.handlers.indices {
        let id = polled.handlers[index].reading.id
        var reason = ""
        if let wait = waits[id], let runningAt = polled.handlers[index].runningAt, now.since(runningAt) >= Self.second {
          // `Self.reason` reads all handlers, so it is called before `look`: the call of `look`
          // below has exclusive access to `polled.handlers`.
          reason = Self.reason(wait, poller)
        }
        look(at: &polled.handlers[index], of: polled, now) { code, count, limit, text in
          found(code, polled, id, count: count, limit: limit, code == .stuck ? text + reason : text)
        }
      }
    }
    // Collects the waits that have ended since the last poll. Two threads may store waits out of the
    // order of their ids, so a poll between the two could skip the lower id for good. Each poll
    // therefore also collects every wait that ended within the last second (`since` is the time of
    // the end). A wait that is collected twice produces one warning.
    let ended = DeferredWaits.last.filter { $0.id > lastEnded || now.since($0.since) < Self.second }
    lastEnded = ended.reduce(lastEnded) { max($0, $1.id) }
    for wait in poller.waits.map(\.row) + ended {
      for handler in wait.deferred {
        let caller = wait.by.map { " from a call of \(poller.title(ofHandler: $0))" } ?? ""
        let text =
          "A deadlock was avoided: a \(wait.kind) of \(poller.title(ofEvent: wait.event))\(caller) does not wait for "
          + "\(poller.title(ofHandler: handler)), which waits for it."
        note(Key(code: .deferred, event: wait.event, handler: handler), 1, 0, text, now, tick)
      }
    }
    for (key, warning) in known {
      let stays: UInt64 = key.code == .stuck || key.code == .flood ? 1 : 10
      if now.since(warning.seenAt) >= stays * Self.second
        || (warning.seenAt < now && poller.index(of: key.event) == nil)
      {
        known[key] = nil
        poller.noteGone(.warning(warning.id), of: key.event)
      }
    }
  }

  private func look(
    at handler: inout PolledHandler, of polled: PolledEvent, _ now: UInt64,
    _ found: (PolledWarning.Code, Int, Int, String) -> Void
  ) {
    // The name is computed only for a warning, because this method runs for each handler at each
    // poll. For the same reason the handler is read in place, not copied.
    var name: String { "\(Self.title(handler)) of \(Self.title(polled))" }
    let usual = Self.usual(handler.longestCall)
    if let runningAt = handler.runningAt, now.since(runningAt) >= usual {
      let time = now.since(runningAt)
      found(.stuck, milliseconds(time), milliseconds(usual), "A call of \(name) has not returned.")
    }
    let waiting = handler.reading.waiting
    if waiting > 0 || handler.before.waiting > 0, grows(&handler.before, waiting, now) {
      let text =
        "\(Self.number(waiting)) occurrences wait for \(name), and more each second."
      found(.backlog, waiting, Self.backlogLimit, text)
    }
    if !handler.reading.replaces, let droppedAt = handler.droppedAt, now.since(droppedAt) < 10 * Self.second {
      let dropped = handler.reading.dropped
      let text =
        "\(name) dropped occurrences, \(Self.number(dropped)) in all."
      found(.dropping, dropped, 0, text)
    }
    let failed = handler.reading.failed - handler.failedBefore
    if failed >= 10 {
      found(
        .failing, failed, 10,
        "The last \(Self.number(failed)) calls of \(name) all failed.")
    }
  }

  /// True if an occurrence was delivered while a present handler was there, and the handler wasn't
  /// called. No poll saw a call of any handler.
  ///
  /// Occurrences alone prove nothing: each may call a `once` handler, which adds the present one. A
  /// handler was passed by if it has skipped or held an occurrence; or if two deliveries began
  /// after a poll first saw it, so that the first had ended.
  private static func hasPassedBy(_ polled: PolledEvent) -> Bool {
    polled.handlers.contains { handler in
      handler.reading.skipped + handler.reading.held > 0 || polled.reading.sequence > handler.sequenceBefore &+ 1
    }
  }

  /// Whether the backlog is large, and larger than the noted one, which it then replaces. `false`
  /// within a second of the note.
  private func grows(_ before: inout (at: UInt64, waiting: Int), _ waiting: Int, _ now: UInt64) -> Bool {
    let isLarge = waiting >= Self.backlogLimit && waiting > before.waiting
    guard now.since(before.at) >= Self.second else { return false }
    before = (now, waiting)
    return isLarge
  }

  private func findMany(_ polled: PolledEvent, _ now: UInt64, _ tick: UInt64) {
    var counts: [String: (count: Int, handler: UInt64)] = [:]
    for handler in polled.handlers {
      let line = handler.info.fileID.map { "\($0):\(handler.info.line ?? 0)" } ?? ""
      counts[line, default: (0, handler.reading.id)].count += 1
    }
    for (line, (count, handler)) in counts where count > 100 {
      let place = line.isEmpty ? "" : " from \(line)"
      let text = "\(Self.title(polled)) has \(Self.number(count)) handlers\(place). Perhaps they are not removed."
      note(
        Key(code: .many, event: polled.id, handler: nil, line: line), count, 100, text, now, tick,
        handler: line.isEmpty ? nil : handler)
    }
  }

  /// - Parameter handler: Named by the row if the key names none.
  private func note(
    _ key: Key, _ count: Int, _ limit: Int, _ text: String, _ now: UInt64, _ tick: UInt64, handler: UInt64? = nil
  ) {
    let handler = key.handler ?? handler
    if var warning = known[key] {
      if warning.count != count || warning.text != text || warning.handler != handler {
        (warning.count, warning.text, warning.handler, warning.version) = (count, text, handler, tick)
      }
      warning.seenAt = now
      known[key] = warning
      return
    }
    last += 1
    known[key] = PolledWarning(
      id: last, code: key.code, event: key.event, handler: handler, since: now, count: count, limit: limit,
      text: text, version: tick, seenAt: now)
  }

  private func milliseconds(_ time: UInt64) -> Int { Int(clamping: time / 1_000_000) }

  private static func reason(_ wait: PolledWait, _ poller: Poller) -> String {
    let others = wait.handlers.prefix(3).map { poller.title(ofHandler: $0) }.joined(separator: ", ")
    return " It waits for \(others.isEmpty ? "" : "\(others) of ")\(poller.title(ofEvent: wait.event))."
  }

  private static func number(_ number: Int) -> String {
    number < 1_000 ? "\(number)" : "\(Self.number(number / 1_000)),\("\(number % 1_000 + 1_000)".dropFirst())"
  }

  static func title(_ polled: PolledEvent) -> String {
    polled.event.name.map { "\"\($0)\"" } ?? "event \(polled.id) of \(polled.type)"
  }

  static func title(_ handler: PolledHandler) -> String {
    handler.info.name.map { "\"\($0)\"" } ?? handler.info.fileID.map { "\($0):\(handler.info.line ?? 0)" }
      ?? "handler \(handler.reading.id)"
  }
}

extension UInt64 {
  /// Zero if the other time is later, for example because the event was made after the poll had
  /// read the clock.
  func since(_ earlier: UInt64) -> UInt64 { self > earlier ? self - earlier : 0 }
}
