import Foundation

func say(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

#if NATS
  import Dispatch
  import EventingInspection
  import EventingNATS
  import EventingTransport
  import Synchronization

  func text(_ body: [UInt8]) -> String {
    let shown = body.prefix(2_000)
    let text =
      String(validating: shown, as: UTF8.self) ?? shown.map { String(format: "%02x", $0) }.joined(separator: " ")
    return printable(body.count > shown.count ? "\(text)… (\(body.count) bytes)" : text)
  }

  func printable(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { onOneLine(String($0)) }.joined(separator: "\n")
  }

  func show(_ letter: RemoteDeadLetter) {
    print(letter)
    let cut = letter.isComplete ? "" : "; cut, because it was too large"
    print("  the letter was stored \(letter.storedAt.formatted(.iso8601)) at \(letter.position)\(cut)")
    for (name, value) in letter.headers.sorted(by: { $0.key < $1.key }) { print(onOneLine("  \(name): \(value)")) }
    print("  \(text(letter.body))")
  }

  func letters(_ count: Int) -> String { count == 1 ? "1 letter" : "\(count) letters" }

  final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  /// Waits for a signal that asks the command to end. A second one ends it at once.
  func interruption() async {
    let numbers = [SIGINT, SIGTERM, SIGHUP]
    defer { for number in numbers { signal(number, SIG_DFL) } }
    let (signals, arrival) = AsyncStream.makeStream(of: Void.self)
    let sources = numbers.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { arrival.yield() }
      source.resume()
      return source
    }
    for await _ in signals { break }
    for source in sources { source.cancel() }
  }

  /// Whether the stream has a message of the subject. If the server doesn't say, it may have one.
  func mayHaveMessages(_ subject: String, _ stream: String, _ nats: NATS) async -> Bool {
    struct Request: Encodable { let last_by_subj: String }
    struct Answer: Decodable {
      struct Fault: Decodable { let code: Int }
      let error: Fault?
    }
    guard let body = try? JSONEncoder().encode(Request(last_by_subj: subject)),
      let reply = try? await nats.plain.request(
        RemoteMessage(body: Array(body)), to: "$JS.API.STREAM.MSG.GET.\(stream)", within: .seconds(2)),
      let answer = try? JSONDecoder().decode(Answer.self, from: Data(reply.body))
    else { return true }
    return answer.error?.code != 404
  }

  /// Returns whether the command did what it was asked to do.
  func run(_ options: Options) async throws -> Bool {
    let credentials = options.credentials.map { NATS.Credentials.file($0) }
    let nats = try await NATS.connect(options.server, credentials: credentials)
    let target: (any Transport)? = if let name = options.target { try await nats.stream(name) } else { nil }
    let stream = try await nats.stream(options.stream)
    if options.action != .serve, await !mayHaveMessages(options.subject, options.stream, nats) {
      say("the stream \(options.stream) has no message of the subject \(options.subject): is this the right one?")
      await nats.close()
      return false
    }
    // Before the queue takes letters, because the path may be refused.
    let inspection = try options.socket.map { try Inspection.serve(at: $0, control: true) }
    let waiting = Task {
      try await Task.sleep(for: .seconds(2))
      say("waiting for letters that were given back a moment ago, or that somebody else has")
    }
    let queue = try await DeadLetterQueue.open(
      options.subject, over: stream, sendingTo: target, as: options.readers ?? "dead-letters", limit: options.limit)
    waiting.cancel()
    let (all, missing) = (queue.letters, queue.heldElsewhere)
    let chosen = all.filter(options.selects)
    var isDone = true
    switch options.action {
    case .serve:
      if missing > 0 { say("\(letters(missing)) more are in somebody else's hands, or beyond the limit") }
      say("\(letters(all.count)); to see them: swift run inspector --control \(inspection?.path ?? "")")
      await interruption()
      inspection?.end()
    case .list, .show: await queue.close()  // before the output, which may have to wait for a reader
    case .discard: print("\(letters(queue.discard(chosen))) discarded of \(all.count)")
    case .send:
      var (count, reasons) = (0, [String: Int]())
      let flag = Flag()
      let waiting = Task {
        await interruption()
        flag.isSet.store(true, ordering: .releasing)
      }
      defer { waiting.cancel() }
      for letter in chosen {
        if flag.isSet.load(ordering: .acquiring) {
          isDone = false
          say("interrupted")
          break
        }
        do { count += try await queue.sendAgain([letter]) } catch { reasons["\(error)", default: 0] += 1 }
      }
      for (reason, count) in reasons.sorted(by: { $0.value > $1.value }) { say("\(count) not sent: \(reason)") }
      isDone = isDone && reasons.isEmpty
      print("\(count) of \(chosen.count) messages sent again, of \(letters(all.count))")
    }
    await queue.close()
    await nats.close()
    switch options.action {
    case .list:
      print("\(letters(chosen.count)) of \(options.subject)\(chosen.count < all.count ? ", of \(all.count)" : "")")
      for count in DeadLetterQueue.Count.counts(of: chosen) { print(count) }
    case .show: for letter in chosen { show(letter) }
    case .discard, .send, .serve: break
    }
    if chosen.isEmpty, !all.isEmpty {
      let handlers = Set(all.map { $0.handler ?? "none" }).sorted().joined(separator: ", ")
      let groups = Set(all.map { $0.group ?? "none" }).sorted().joined(separator: ", ")
      say("none of \(letters(all.count)) is selected; their handlers are: \(handlers); their groups: \(groups)")
      isDone = false
    }
    if missing > 0, options.action != .serve {
      say(
        all.count >= options.limit
          ? "there are more than the limit of \(options.limit)"
          : "\(letters(missing)) more are in somebody else's hands, or were given back in the last ten seconds: try again"
      )
      isDone = false
    }
    return isDone
  }

  let arguments = Array(CommandLine.arguments.dropFirst())
  if arguments.isEmpty || arguments.contains("--help") || arguments.contains("-h") {
    print(Options.help)
    exit(arguments.isEmpty ? 64 : 0)
  }
  do { exit(try await run(Options(arguments)) ? 0 : 1) } catch {
    say("error: \(error)")
    exit(error is Refusal ? 64 : 1)
  }
#else
  say("error: expected the trait NATS: swift run --traits NATS dead-letters")
  exit(64)
#endif
