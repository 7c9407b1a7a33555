#if NATS
  import Eventing
  import EventingNATS
  import EventingTransport
  import Foundation

  /// A run: a broker, processes that publish and handle, disturbances, and the final check that the
  /// stored messages were handled.
  @MainActor final class Run {
    private let options: Options
    private let folder: String
    /// Of all brokers, joined by commas.
    private let address: String
    private var brokers: [Child] = []
    private var children: [Child] = []
    /// The proxy of each child. A child can reach the broker only through its proxy.
    private var links: [Link] = []
    private var random: Seeded
    private var counts: [String: Int] = [:]
    /// The ends of disturbances.
    private var later: [Task<Void, Never>] = []
    /// For each publisher, its first start since the stream was made. The messages of earlier
    /// starts were deleted with the old stream.
    private var firstStarts: [Substring: Int] = [:]

    init(_ options: Options) async throws {
      self.options = options
      random = Seeded(state: options.seed)
      let folder = NSTemporaryDirectory() + "remote-stress-\(UUID().uuidString)"
      self.folder = folder
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      Roles.nodes = options.nodes
      let ports = try (0..<options.nodes).map { _ in try Sockets.freePort() }
      let routes = try ports.map { _ in "nats://127.0.0.1:\(try Sockets.freePort())" }
      address = ports.map { "nats://127.0.0.1:\($0)" }.joined(separator: ",")
      let program = CommandLine.arguments[0]
      for (number, port) in ports.enumerated() {
        var arguments = ["-a", "127.0.0.1", "-p", "\(port)", "-js", "-sd", "\(folder)/streams\(number)"]
        arguments += ["-l", "\(folder)/broker\(number).log"]
        if ports.count > 1 {
          // A client would reach the addresses that a broker tells without the proxy of its process.
          arguments += ["-n", "n\(number)", "-cluster_name", "stress", "-cluster", routes[number], "-no_advertise"]
          arguments += ["-routes", routes.joined(separator: ",")]
        }
        brokers.append(try Child("broker", options.server ?? Run.server()) { [arguments] _ in arguments })
      }
      await Roles.makeLetterStream(await Roles.connect(address).nats)
      for number in 0..<options.publishers {
        let address = try link(to: ports[number % ports.count])
        children.append(
          try Child("publisher", program) { start in
            ["publisher", "p\(number).\(start)", address, "\(folder)/stored", "\(options.rate)"]
          })
      }
      for group in Roles.groups {
        for number in 0..<options.members {
          let address = try link(to: ports[number % ports.count])
          children.append(try Child("member", program) { _ in ["member", group, address, "\(folder)/\(group)"] })
        }
      }
    }

    /// Makes a proxy for the next child, and returns the proxy's address.
    private func link(to port: Int) throws -> String {
      let link = try Link(to: port)
      links.append(link)
      return "nats://127.0.0.1:\(link.port)"
    }

    /// Disturbs the processes for the time of the run, and then checks the messages. Returns
    /// whether that check passed.
    func run() async throws -> Bool {
      let begin = ContinuousClock.now
      while .now < begin + .seconds(options.seconds) {
        try await Task.sleep(for: .milliseconds(Int.random(in: 50...500, using: &random)))
        // Only messages of the last stream are judged, so it has at least half of the time.
        try await disturb(mayRemake: .now < begin + .seconds(options.seconds / 2))
      }
      for child in children { child.thaw() }
      for link in links { link.heal(isReset: false) }
      for broker in brokers { broker.thaw() }
      var isWhole = false
      do {
        try await storesSomething()
        for child in children where child.name == "publisher" { child.end() }
        isWhole = try await judge()
      } catch {
        print("not judged: \(error)")
      }
      for child in children + brokers { child.end() }
      if isWhole { try? FileManager.default.removeItem(atPath: folder) } else { print("kept for a look: \(folder)") }
      return isWhole
    }

    private func disturb(mayRemake: Bool) async throws {
      let all = options.kill + options.freeze + options.partition + options.remake
      guard all > 0 else { return }
      let choice = Double.random(in: 0..<all, using: &random)
      if choice < options.partition { return partition() }
      if choice >= options.partition + options.kill + options.freeze {
        if mayRemake { try await remakeStream() }
        return
      }
      let target =
        (Int.random(in: 0..<5, using: &random) == 0 ? brokers : children).randomElement(using: &random) ?? brokers[0]
      if choice < options.partition + options.kill {
        if target.name == "member", Int.random(in: 0..<10, using: &random) == 0 {
          counts["member ended", default: 0] += 1
          return try await target.restartGently()
        }
        counts["\(target.name) killed", default: 0] += 1
        return try target.restart()
      }
      target.freeze()
      if Int.random(in: 0..<20, using: &random) == 0 {
        // This freeze is longer than the 10 s that the broker waits for a verdict. Other
        // disturbances follow meanwhile.
        counts["\(target.name) frozen for long", default: 0] += 1
        later.append(
          Task {
            try? await Task.sleep(for: .seconds(12))
            target.thaw()
          })
        return
      }
      counts["\(target.name) frozen", default: 0] += 1
      try await Task.sleep(for: .milliseconds(Int.random(in: 50...1_500, using: &random)))
      target.thaw()
    }

    /// Deletes the stream, and makes it again, while members have its messages in hand. The
    /// publishers end before, so that all their messages were in the old stream.
    private func remakeStream() async throws {
      counts["stream made again", default: 0] += 1
      for broker in brokers { broker.thaw() }
      for (number, child) in children.enumerated() where child.name == "publisher" {
        child.end()
        links[number].heal(isReset: true)
        firstStarts["p\(number)"] = child.starts
      }
      try await Task.sleep(for: .milliseconds(200))  // bytes on their way to the broker
      let (nats, _) = await Roles.connect(address)
      while true {
        let answer = try? await nats.plain.request(
          RemoteMessage(), to: "$JS.API.STREAM.DELETE.STRESS", within: .seconds(5))
        let text = answer.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
        // An answer may have been lost: then the stream is not found.
        if text.contains("\"success\":true") || text.contains("10059") { break }
        try await Task.sleep(for: .milliseconds(50))
      }
      await nats.close()
      await Roles.connect(address).nats.close()
      for child in children where child.name == "publisher" { try child.restart() }
    }

    /// Returns whether a message was published to the stream as it is now.
    private func isCurrent(_ id: Substring) -> Bool {
      let words = id.split(separator: ".")
      guard words.count == 3, let start = Int(words[1]) else { return false }
      return start >= firstStarts[words[0]] ?? 0
    }

    /// Cuts some processes, or all, from the broker for up to 6 s. Returns at once, so other
    /// disturbances can come during the cut.
    private func partition() {
      let count = Int.random(in: 0..<5, using: &random) == 0 ? links.count : Int.random(in: 1...3, using: &random)
      let some = Array(links.shuffled(using: &random).prefix(count))
      let directions = [[.toBroker], [.fromBroker], Set(Link.Direction.allCases)].randomElement(using: &random) ?? []
      let isReset = Bool.random(using: &random)
      let time = Duration.milliseconds(
        Int.random(in: 50...(Bool.random(using: &random) ? 6_000 : 1_000), using: &random))
      counts[isReset ? "partition that ends in a reset" : "partition that heals", default: 0] += 1
      for link in some { link.cut(directions) }
      later.append(
        Task {
          try? await Task.sleep(for: time)
          for link in some { link.heal(isReset: isReset) }
        })
    }

    /// Waits at most 60 s until the publishers have logged a message of the stream as it is now.
    /// The last disturbance may have made the stream again. Without a message there is nothing to
    /// check.
    private func storesSomething() async throws {
      let end = ContinuousClock.now + .seconds(60)
      while !LineLog.ids("\(folder)/stored").contains(where: isCurrent), .now < end {
        try await Task.sleep(for: .milliseconds(250))
      }
    }

    /// Checks, for each group, that every stored message was handled or is a dead letter. Checks
    /// that the stream has no message twice.
    private func judge() async throws -> Bool {
      let nats = await Roles.connect(address).nats
      let stream = try await nats.stream("DEAD", subjects: ["dead.>"])
      let dead = Guarded<[String: Set<Substring>]>([:])
      var events: [RemoteEvent<[UInt8]>] = []
      for group in Roles.groups {
        let event = Roles.event("dead.\(group)", stream)
        event.addHandler { body in
          let id = Roles.id(body)
          dead.withLock { _ = $0[group, default: []].insert(id) }
        }
        try await event.listen(as: "ledger", startingAt: .first)
        events.append(event)
      }
      let stored = Set(LineLog.ids("\(folder)/stored")).filter(isCurrent)
      let begin = ContinuousClock.now
      var missing: [String: Int] = [:]
      // The stream may have messages whose publisher was killed before it logged them.
      var (ids, messages) = (0, 0)
      repeat {
        try await Task.sleep(for: .milliseconds(250))
        var known = stored
        for group in Roles.groups {
          let handled = Set(LineLog.lines("\(folder)/\(group)"))
          let letters = dead.withLock { $0[group] ?? [] }
          missing[group] = stored.subtracting(handled).subtracting(letters).count
          known.formUnion(handled.union(letters).filter(isCurrent))
        }
        (ids, messages) = (known.count, await messageCount(nats))
      } while (missing.values.contains { $0 > 0 } || messages != ids) && .now < begin + .seconds(90)
      print(
        "seed \(options.seed), \(Int(options.seconds)) s, caught up after \(begin.duration(to: .now).components.seconds) s"
      )
      print(counts.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }.joined(separator: ", "))
      print("group       stored   handled      dead   repeats      lost")
      for group in Roles.groups {
        let lines = LineLog.lines("\(folder)/\(group)")
        let handled = Set(lines).count
        let letters = dead.withLock { $0[group]?.count ?? 0 }
        let row = [stored.count, handled, letters, lines.count - handled, missing[group] ?? 0]
        let cells = row.map {
          String(repeating: " ", count: max(1, 10 - "\($0)".count)) + "\($0)"
        }
        print(group.padding(toLength: 8, withPad: " ", startingAt: 0) + cells.joined())
      }
      print("the stream has \(messages) messages of \(ids) ids")
      withExtendedLifetime(events) {}
      let receipts = try await checkReceipts(nats, messages)
      let again = try await sendAgain(nats)
      return !stored.isEmpty && missing.values.allSatisfy { $0 == 0 } && messages == ids && receipts && again
    }

    /// Compares the receipts with the content of the stream. A receipt names the position of its
    /// message, also if it is that of a repetition.
    private func checkReceipts(_ nats: NATS, _ count: Int) async throws -> Bool {
      let found = Guarded<[UInt64: Substring]>([:])
      let event = Roles.event("work.item", try await nats.stream("STRESS"))
      event.remoteOccurrences.addHandler { occurrence in
        found.withLock { $0[occurrence.position ?? 0] = Roles.id(occurrence.payload) }
      }
      let listening = try await event.listen(startingAt: .first, inFlight: 1_024)
      let end = ContinuousClock.now + .seconds(60)
      while found.withLock({ $0.count }) < count, .now < end { try await Task.sleep(for: .milliseconds(50)) }
      listening.cancel()
      let stream = found.withLock { $0 }
      var (checked, wrong) = (0, 0)
      for line in Set(LineLog.lines("\(folder)/stored")) where isCurrent(Roles.id(Array(line.utf8))) {
        let words = line.split(separator: " ")
        guard words.count == 2, let position = UInt64(words[1]) else { continue }
        checked += 1
        if stream[position] == words[0] { continue }
        wrong += 1
        if wrong <= 5 {
          print("the receipt of \(words[0]) names \(position), where the stream has \(stream[position] ?? "nothing")")
        }
      }
      print("receipts    \(checked) checked, \(wrong) without their message")
      return checked > 0 && wrong == 0 && stream.count == count
    }

    /// Mends the handlers, and sends the letters again that are whole. Each must be handled by its
    /// group, and once, since nothing is disturbed any more.
    private func sendAgain(_ nats: NATS) async throws -> Bool {
      for task in later { await task.value }
      let (letters, work) = (try await nats.stream("DEAD"), try await nats.stream("STRESS"))
      // A message whose letter is stored may still be in flight, if its acknowledgement was lost.
      guard try await isQuiet(work) else { return false }
      for group in Roles.groups { Roles.mend("\(folder)/\(group)") }
      let hasUnmended = LineLog.ids("\(folder)/stored").contains { id in
        isCurrent(id) && (id.split(separator: ".").last.flatMap { Int($0) } ?? 0) % 50 == 25
      }
      var isWhole = true
      for group in Roles.groups {
        let before = Roles.groups.map { LineLog.lines("\(folder)/\($0)").count }
        let queue = try await DeadLetterQueue.open(
          "dead.\(group)", over: letters, sendingTo: work, limit: 60_000, within: .seconds(60))
        let chosen = queue.letters.filter { $0.isComplete && isCurrent(Roles.id($0.body)) }
        let sent = try await queue.sendAgain(chosen)
        await queue.close()
        isWhole = try await isQuiet(work) && isWhole
        let ids = Set(chosen.map { Roles.id($0.body) })
        var calls: [Substring: Int] = [:]
        var strange = 0
        for (other, count) in zip(Roles.groups, before) {
          for id in LineLog.lines("\(folder)/\(other)").dropFirst(count) where ids.contains(id) {
            if other == group { calls[id, default: 0] += 1 } else { strange += 1 }
          }
        }
        let (lost, twice) = (ids.count - calls.count, calls.values.count { $0 > 1 })
        print(
          "\(group): \(sent) letters sent again, \(lost) lost, \(twice) handled twice, \(strange) by the other group")
        isWhole = isWhole && sent == chosen.count && lost + twice + strange == 0 && (sent > 0 || !hasUnmended)
      }
      return isWhole
    }

    /// Waits until no group has anything to handle. Returns false after a minute and a half.
    private func isQuiet(_ work: NATSTransport) async throws -> Bool {
      let end = ContinuousClock.now + .seconds(90)
      while .now < end {
        var count = 0
        for group in Roles.groups {
          let backlog = try await work.backlog(of: "work.item", in: group)
          count += backlog.waiting + backlog.inHand
        }
        if count == 0 { return true }
        try await Task.sleep(for: .milliseconds(250))
      }
      print("the groups have still messages to handle")
      return false
    }

    /// Returns the number of messages of the publishers in the stream; 0 if the broker is away.
    private func messageCount(_ nats: NATS) async -> Int {
      let query = RemoteMessage(body: Array(#"{"subjects_filter":"work.item"}"#.utf8))
      let info = try? await nats.plain.request(query, to: "$JS.API.STREAM.INFO.STRESS", within: .seconds(5))
      let text = info.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
      return text.firstMatch(of: /"work\.item":(\d+)/).flatMap { Int($0.output.1) } ?? 0
    }

    private static func server() throws -> String {
      let places = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].map { "\($0)/nats-server" }
      guard let place = places.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
        throw Refusal("expected the program nats-server: apt-get install nats-server, or brew install nats-server")
      }
      return place
    }
  }
#endif
