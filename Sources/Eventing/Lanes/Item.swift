/// An item in the queue of a handler, without its payload.
struct Item: PayloadHeader, Sendable {
  enum Kind: UInt {
    /// An occurrence. Its payload lies beside the item.
    case call
    /// The completion arrives when all calls before it have ended.
    case barrier
    /// The handler is over when all calls before it have ended. No item follows.
    case end
    /// A key, whose payloads wait for a batch in its own queue: see ``KeyQueue``.
    case key
    /// The place of a barrier that has gone.
    case hole
  }

  var completion: Completion?
  /// The address of the key, with the kind in its low bits: an item takes 16 bytes.
  private let word: UInt

  @inline(__always) init(_ completion: Completion?, _ key: Unmanaged<KeyQueue>? = nil, _ kind: Kind = .call) {
    self.completion = completion
    word = unsafe UInt(bitPattern: key?.toOpaque()) | kind.rawValue
  }

  @inline(__always) var isCall: Bool { word & 7 == 0 }
  @inline(__always) var hasPayload: Bool { isCall }
  var kind: Kind { Kind(rawValue: word & 7) ?? .call }

  /// The key, which its table keeps alive while an item names it.
  @inline(__always) var key: Unmanaged<KeyQueue>? {
    unsafe UnsafeRawPointer(bitPattern: word & ~7).map { unsafe Unmanaged.fromOpaque($0) }
  }
}
