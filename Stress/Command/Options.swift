/// The parsed command line.
struct Options: Sendable {
  /// The relative frequencies with which a worker adds, removes, locks and sends.
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
  /// The names of the scenarios to run. If empty, all scenarios run.
  var scenarioNames: [String] = []
  var faults = FaultRates.usual
  var jsonPath: String?
  var plotPath: String?
  var tracePath: String?
  /// The path of the socket at which an inspector can connect to the run.
  var inspectPath: String?

  /// Returns the command line that runs only these scenarios, with the options of this run.
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
    usage: stress [options]            lets workers race on events, and checks every guarantee
           stress replay FILE|-        sends the lines of FILE, or of the standard input, through a chain of events

      --seconds N                      the time of the whole run, in seconds; default 44
      --seed N                         the seed of all random numbers; default 1
      --tasks N                        the number of workers that are tasks of the pool; default 2
      --threads N                      the number of workers that are threads of their own; default 2
      --events N                       the number of events at a time in the scenario "many"; default 1000
      --handlers N                     the approximate number of handlers on an event; default 24
      --mix ADD:REMOVE:LOCK:SEND       the relative frequencies of operations in the scenario "churn"; default 2:2:1:5
      --faults KIND:RATE               injects faults of KIND (see --list) once in RATE chances, RATE being 1 or more,
                                       and no other kinds; repeat the option, or use commas, for several; default:
                                       \(FaultRates.usual.text)
      --faults none                    injects no faults, except those that are part of a scenario
      --scenario NAME                  runs only this scenario; may be repeated
      --json FILE                      also writes all figures to FILE
      --inspect PATH                   lets an inspector look at the run; %p is the process
      --plot FILE.svg                  draws throughput and latency over the time of the run
      --trace FILE                     writes a trace of the last round of the last scenario, for Perfetto
      --list                           lists the scenarios and the faults
      --help                           prints this text

    Exit codes: 0 all held, 1 a guarantee was violated, 64 bad options or input, 70 no progress for \(Int(Watchdog.patience)) s.
    A seed fixes what the workers do. The system decides when, so a violation may take several runs to reappear.
    """
}

/// An error in the command line or in the input. The message is one line.
struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}
