/// What the command line says.
struct Options: Sendable {
  /// How often a worker adds, removes, locks and sends, compared with each other.
  struct Mix: Sendable {
    var add = 2
    var remove = 2
    var lock = 1
    var send = 5

    var weights: [Int] { [add, remove, lock, send] }
  }

  enum Command: Sendable {
    case run
    case list
    case help
    case replay(String)
  }

  var command = Command.run
  var seconds = 44.0
  var seed: UInt64 = 1
  var tasks = 2
  var threads = 2
  var events = 1_000
  var handlers = 24
  var mix = Mix()
  /// The names of those that run; none for all.
  var scenarioNames: [String] = []
  var faults = FaultRates.usual
  var jsonPath: String?
  var plotPath: String?

  /// The command that does the same again.
  func commandLine(only names: [String]) -> String {
    let time = seconds == seconds.rounded() ? Format.fixed(seconds, 0) : "\(seconds)"
    var words = [
      "swift run -c release stress", "--seed \(seed)", "--seconds \(time)", "--tasks \(tasks)", "--threads \(threads)",
    ]
    words += ["--events \(events)", "--handlers \(handlers)", "--mix \(mix.add):\(mix.remove):\(mix.lock):\(mix.send)"]
    words.append("--faults \(faults.text)")
    return (words + names.map { "--scenario \($0)" }).joined(separator: " ")
  }

  static let usage = """
    usage: stress [options]            makes trouble for events, and tells whether they kept what they promise
           stress replay FILE|-        sends the lines of a file, or of the standard input, through a chain of events

      --seconds N                      for the whole run; default 44
      --seed N                         of all random numbers; default 1
      --tasks N                        workers that are tasks of the pool; default 2
      --threads N                      workers that are threads of their own; default 2
      --events N                       events at a time in the scenario "many"; default 1000
      --handlers N                     handlers on an event, about; default 24
      --mix ADD:REMOVE:LOCK:SEND       how often each is done in the scenario "churn"; default 2:2:1:5
      --faults KIND:RATE               a misfortune of that kind (see --list) once in RATE chances, a number from 1 on, and no other kinds;
                                       for several, commas or several --faults; default:
                                       \(FaultRates.usual.text)
      --faults none                    no misfortunes, but for those that a scenario is made of
      --scenario NAME                  only this one; may be given several times
      --json FILE                      writes all figures to a file, too
      --plot FILE.svg                  draws throughput and latency over the time of the run
      --list                           says what the scenarios and the faults are
      --help                           says this

    Exit codes: 0 all held, 1 something was violated, 64 bad options or input, 70 nothing moved for \(Int(Watchdog.patience)) s.
    The same seed makes the workers do the same; when, is up to the system. So a violation may take several runs to show again.
    """
}

/// What is wrong with the command line or the input: one line.
struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}
