import Dispatch
import Eventing
import Foundation

/// Posts the first Control-C as an event. The second Control-C ends the program.
struct ControlC {
  let pressed = Signal("Control-C")
  private let source: any DispatchSourceSignal

  init() {
    signal(SIGINT, SIG_IGN)  // instead of ending the program, the signal reaches the dispatch source
    source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler { [pressed] in
      signal(SIGINT, SIG_DFL)
      pressed.post()
    }
    source.resume()
  }
}
