import EventingInspection
import Foundation

// A shop to look at with the inspector. The program reads the names of faults from its standard
// input, one a line, and ends at the end of the input.
let faults = "stick, free, drop, flood or defer"
guard CommandLine.arguments.count == 2, let path = CommandLine.arguments.last, !path.hasPrefix("-") else {
  print("usage: watched-shop SOCKET\nReads lines: \(faults)")
  exit(64)
}
do {
  let inspection = try Inspection.serve(at: path)
  let shop = Shop()
  let trading = Task.detached { await shop.trade() }
  print("listens at \(inspection.path)")
  fflush(nil)
  while let line = readLine() {
    switch line {
    case "stick": shop.stick()
    case "free": shop.free()
    case "drop": shop.drop()
    case "flood": shop.flood()
    case "defer": shop.deferWait()
    default: print("expected \(faults), got \(line)")
    }
    print("did \(line)")
    fflush(nil)
  }
  trading.cancel()
  inspection.end()
} catch {
  print("watched-shop: \(error)")
  exit(1)
}
