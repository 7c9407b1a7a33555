import Dispatch
import Eventing
import Foundation

/// Control-C as an event.
struct ControlC {
  let pressed = Signal("Control-C")
  private let source: any DispatchSourceSignal

  init() {
    signal(SIGINT, SIG_IGN)  // the source is told instead
    source = DispatchSource.makeSignalSource(signal: SIGINT)
    source.setEventHandler { [pressed] in pressed.post() }
    source.resume()
  }
}
