import Foundation

#if NATS
  import EventingNATS
  import EventingTransport

  func text(_ body: [UInt8]) -> String {
    let shown = body.prefix(2_000)
    let text =
      String(validating: shown, as: UTF8.self) ?? shown.map { String(format: "%02x", $0) }.joined(separator: " ")
    return body.count > shown.count ? "\(text)… (\(body.count) bytes)" : text
  }

  func show(_ letter: RemoteDeadLetter) {
    print(letter)
    print("  stored \(letter.storedAt.formatted(.iso8601)) at \(letter.position)\(letter.isComplete ? "" : ", cut")")
    for (name, value) in letter.headers.sorted(by: { $0.key < $1.key }) { print("  \(name): \(value)") }
    print("  \(text(letter.body))")
  }

  func run(_ options: Options) async throws {
    let credentials = options.credentials.map { NATS.Credentials.file($0) }
    let nats = try await NATS.connect(options.server, credentials: credentials)
    let target: (any Transport)? = if let name = options.target { try await nats.stream(name) } else { nil }
    let queue = try await DeadLetterQueue.open(
      options.subject, over: try await nats.stream(options.stream), sendingTo: target, as: options.readers,
      limit: options.limit)
    let chosen = queue.letters.filter(options.selects)
    switch options.action {
    case .list:
      print("\(queue.letters.count) letters of \(options.subject)")
      for count in queue.counts { print(count) }
    case .show: for letter in chosen { show(letter) }
    case .discard: print("\(queue.discard(chosen)) letters discarded")
    case .send:
      let before = queue.letters.count
      do { print("\(try await queue.sendAgain(chosen)) messages sent again") } catch {
        print("\(before - queue.letters.count) messages sent again, then: \(error)")
        await queue.close()
        await nats.close()
        exit(1)
      }
    }
    await queue.close()
    await nats.close()
  }

  let arguments = Array(CommandLine.arguments.dropFirst())
  if arguments.isEmpty || arguments.contains("--help") || arguments.contains("-h") {
    print(Options.help)
    exit(arguments.isEmpty ? 64 : 0)
  }
  do { try await run(Options(arguments)) } catch {
    print("error: \(error)")
    exit(64)
  }
#else
  print("error: expected the trait NATS: swift run --traits NATS dead-letters")
  exit(64)
#endif
