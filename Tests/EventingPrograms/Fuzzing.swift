import Dispatch
import Eventing
import Foundation

/// What libFuzzer calls with the bytes that it made; see `.ci/fuzz`. A difference ends the process, which libFuzzer takes for a crash: it writes the bytes to a file.
///
/// In a debug build `EVENTING_MUTANT` names a fault that is planted first, to see that it is found.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  _ = plant
  let program = unsafe Program(bytes: UnsafeBufferPointer(start: bytes, count: count))
  let ended = DispatchSemaphore(value: 0)
  Task.detached {
    if let difference = await program.run().difference { fatalError(difference) }
    ended.signal()
  }
  ended.wait()
  return 0
}

private let plant: Void = {
  #if DEBUG
    guard let name = ProcessInfo.processInfo.environment["EVENTING_MUTANT"] else { return }
    guard let mutant = Mutant(rawValue: name) else {
      fatalError("EVENTING_MUTANT: expected a case of Mutant, got \(name)")
    }
    unsafe Mutant.everywhere = mutant
  #endif
}()
