#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Starts an inspection for the environment variable `EVENTING_INSPECT`. Called by a constructor,
/// before `main`. If it cannot serve, it says so on the standard error, and the program goes on.
@_cdecl("eventing_inspection_start") func startFromEnvironment(_ path: UnsafePointer<CChar>) {
  let path = unsafe String(cString: path)
  do {
    try Inspection.serve(at: path)
  } catch {
    _ = unsafe Array("EVENTING_INSPECT: \(error)\n".utf8).withUnsafeBytes { unsafe write(2, $0.baseAddress, $0.count) }
  }
}
