import Dispatch
import Eventing
import Foundation

/// The first Control-C as an event. The second one ends the program.
struct ControlC {
  let pressed = Signal("Control-C")
  private let source: any DispatchSourceSignal

  init() {
    signal(SIGINT, SIG_IGN)  // the source is told instead
    source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler { [pressed] in
      signal(SIGINT, SIG_DFL)
      pressed.post()
    }
    source.resume()
  }
}
