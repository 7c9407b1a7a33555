#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#endif

/// Bytes from `malloc`; 0 where the system does not report them. Only for exit tests, which have a
/// process of their own, because other tests allocate meanwhile.
func heapInUse() -> Int {
  #if canImport(Darwin)
    return Int(mstats().bytes_used)
  #elseif canImport(Glibc)
    typealias Info = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
    guard let symbol = unsafe dlsym(nil, "malloc_info") else { return 0 }
    let info = unsafe unsafeBitCast(symbol, to: Info.self)
    var (buffer, size): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
    guard let file = unsafe open_memstream(&buffer, &size) else { return 0 }
    _ = unsafe info(0, file)
    unsafe fclose(file)
    defer { unsafe free(buffer) }
    guard let text = unsafe buffer.map({ unsafe String(cString: $0) }) else { return 0 }
    // The totals come after the figures of the single arenas, so the last match is the total.
    func last(_ element: String) -> Int {
      guard let line = text.split(separator: "\n").last(where: { $0.contains(element) }) else { return 0 }
      return line.split(separator: "\"").last(where: { $0.allSatisfy(\.isNumber) }).flatMap { Int($0) } ?? 0
    }
    return last("<system type=\"current\"") + last("<total type=\"mmap\"") - last("<total type=\"fast\"")
      - last("<total type=\"rest\"")
  #else
    return 0
  #endif
}
