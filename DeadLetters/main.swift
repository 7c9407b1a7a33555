import Foundation

#if NATS
  import EventingNATS
  import EventingTransport

  func text(_ body: [UInt8]) -> String {
    let shown = body.prefix(2_000)
    let text =
      String(validating: shown, as: UTF8.self) ?? shown.map { String(format: "%02x", $0) }.joined(separator: " ")
    return printable(body.count > shown.count ? "\(text)… (\(body.count) bytes)" : text)
  }

  /// Another program may have written any bytes, and a terminal obeys some.
  func printable(_ text: String) -> String {
    String(
      String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 && $0 != "\n" || $0.value == 127 ? " " : $0 }))
  }

  func show(_ letter: RemoteDeadLetter) {
    print(letter)
    print("  stored \(letter.storedAt.formatted(.iso8601)) at \(letter.position)\(letter.isComplete ? "" : ", cut")")
    for (name, value) in letter.headers.sorted(by: { $0.key < $1.key }) { print(printable("  \(name): \(value)")) }
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
    var isComplete = true
    switch options.action {
    case .list:
      print("\(queue.letters.count) letters of \(options.subject)")
      for count in queue.counts { print(count) }
      if queue.heldElsewhere > 0 {
        print(
          "\(queue.heldElsewhere) more were given back a moment ago, or somebody else has them: try again in ten seconds"
        )
      }
    case .show: for letter in chosen { show(letter) }
    case .discard: print("\(queue.discard(chosen)) letters discarded")
    case .send:
      var count = 0
      for letter in chosen {
        do { count += try await queue.sendAgain([letter]) } catch {
          isComplete = false
          print("not sent: \(error)")
        }
      }
      print("\(count) of \(chosen.count) messages sent again")
    }
    await queue.close()
    await nats.close()
    if !isComplete { exit(1) }
  }

  let arguments = Array(CommandLine.arguments.dropFirst())
  if arguments.isEmpty || arguments.contains("--help") || arguments.contains("-h") {
    print(Options.help)
    exit(arguments.isEmpty ? 64 : 0)
  }
  do { try await run(Options(arguments)) } catch {
    print("error: \(error)")
    exit(error is Refusal ? 64 : 1)
  }
#else
  print("error: expected the trait NATS: swift run --traits NATS dead-letters")
  exit(64)
#endif
