import Dispatch
import Eventing
import Foundation

/// Runs the program that the bytes of libFuzzer describe; see `.ci/fuzz`.
///
/// If the event differs from the model, the process ends. libFuzzer counts this as a crash, and
/// writes the bytes to a file.
///
/// In a debug build, `EVENTING_MUTANT` names a fault that is planted first. This shows whether the
/// fuzzer finds the fault.
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
