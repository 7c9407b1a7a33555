#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A constructor in C calls this before `main`. If the inspection cannot serve, a line on the
/// standard error says why, and the program goes on.
@_cdecl("eventing_inspection_start") func startFromEnvironment(_ path: UnsafePointer<CChar>) {
  let path = unsafe String(cString: path)
  do {
    try Inspection.serve(at: path)
  } catch {
    _ = unsafe Array("EVENTING_INSPECT: \(error)\n".utf8).withUnsafeBytes { unsafe write(2, $0.baseAddress, $0.count) }
  }
}
