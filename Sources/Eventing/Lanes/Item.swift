struct Item: PayloadHeader, Sendable {
  enum Kind: UInt {
    case call
    case barrier
    case end
    case key
    case hole
  }

  var completion: Completion?
  /// The key's address with the kind in its low bits, so that an item takes 16 bytes.
  private let word: UInt

  @inline(__always) init(_ completion: Completion?, _ key: Unmanaged<KeyQueue>? = nil, _ kind: Kind = .call) {
    self.completion = completion
    word = unsafe UInt(bitPattern: key?.toOpaque()) | kind.rawValue
  }

  @inline(__always) var isCall: Bool { word & 7 == 0 }
  @inline(__always) var hasPayload: Bool { isCall }
  var kind: Kind { Kind(rawValue: word & 7) ?? .call }

  /// The key table keeps the key alive while an item refers to it.
  @inline(__always) var key: Unmanaged<KeyQueue>? {
    unsafe UnsafeRawPointer(bitPattern: word & ~7).map { unsafe Unmanaged.fromOpaque($0) }
  }
}
