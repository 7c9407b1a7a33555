import Foundation

#if NATS
  let arguments = Array(CommandLine.arguments.dropFirst())
  do {
    if ["publisher", "member"].contains(arguments.first) { Roles.endWithParent() }
    switch arguments.first {
    case "publisher" where arguments.count == 5:
      try await Roles.publish(arguments[1], arguments[2], arguments[3], rate: Double(arguments[4]) ?? 500)
    case "member" where arguments.count == 4: try await Roles.handle(arguments[1], arguments[2], arguments[3])
    case _ where arguments.contains("--help") || arguments.contains("-h"): print(Options.help)
    default:
      let isWhole = try await Run(Options(arguments)).run()
      print(isWhole ? "All held." : "Not all held.")
      exit(isWhole ? 0 : 1)
    }
  } catch {
    print("error: \(error)")
    exit(64)
  }
#else
  print("error: expected the trait NATS: swift run -c release --traits NATS remote-stress")
  exit(64)
#endif
