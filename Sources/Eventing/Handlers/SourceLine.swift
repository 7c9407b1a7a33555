/// In a release build, the record of an inline handler without options has no room for a location.
@usableFromInline struct SourceLine: Sendable {
  /// The address of a literal that ends with a zero byte; 0 for no location.
  @usableFromInline let address: UInt
  @usableFromInline let number: UInt32

  @inlinable @inline(__always) init(address: UInt, number: UInt32) {
    self.address = address
    self.number = number
  }

  @inlinable @inline(__always) init(_ fileID: StaticString, _ line: UInt) {
    // A `StaticString` may contain a single character instead of a pointer to its text. In that
    // case, it has no address, and the location is unknown.
    let address = unsafe fileID.hasPointerRepresentation ? UInt(bitPattern: fileID.utf8Start) : 0
    self.init(address: address, number: UInt32(truncatingIfNeeded: line))
  }

  @inlinable @inline(__always) static var none: SourceLine { SourceLine(address: 0, number: 0) }

  @inlinable @inline(__always) static func whileDebugging(_ fileID: StaticString, _ line: UInt) -> SourceLine {
    #if DEBUG
      SourceLine(fileID, line)
    #else
      .none
    #endif
  }

  var fileID: String? {
    // Safe: the address is that of a literal, which is never freed.
    unsafe UnsafePointer<CChar>(bitPattern: address).map { unsafe String(cString: $0) }
  }

  var line: Int? { address == 0 ? nil : Int(number) }

  static func text(_ fileID: String?, _ line: Int?) -> String? {
    guard let fileID, let line else { return nil }
    return "\(fileID.split(separator: "/").last ?? ""):\(line)"
  }
}

extension HandlerToken {
  package var sourceText: String? { SourceLine.text(fileID, line) }

  /// The file where the handler was created, with its module: `Shop/Orders.swift`.
  ///
  /// In a release build, it's `nil` for an inline handler without a name or any option except
  /// `once`. It's also `nil` for forwards and sequences.
  public var fileID: String? { record.source.fileID }

  /// The line where the handler was created: see ``fileID``.
  public var line: Int? { record.source.line }
}
