extension InMemoryTransport {
  /// A fault that an engine in memory makes at random, from its seed.
  public struct Fault: Hashable, Sendable {
    enum Kind: Hashable, Sendable { case duplicate(Double), drop(Double), delay(Duration), loseReceipt(Double) }
    let kind: Kind

    /// Returns a fault that delivers a handled message a second time. It has no effect without a
    /// stream.
    ///
    /// - Parameter probability: The probability for each handled message, from 0 to 1.
    public static func duplicate(_ probability: Double) -> Fault { Fault(kind: .duplicate(probability)) }
    /// Returns a fault that loses a message before it arrives. A stream redelivers the message.
    ///
    /// - Parameter probability: The probability for each delivery, from 0 to 1.
    public static func drop(_ probability: Double) -> Fault { Fault(kind: .drop(probability)) }
    /// Returns a fault that delays each delivery by a random time. The order stays.
    ///
    /// - Parameter longest: The longest delay.
    public static func delay(upTo longest: Duration) -> Fault { Fault(kind: .delay(longest)) }
    /// Returns a fault that stores a message but loses its receipt: `publish` throws
    /// ``TransportError/Code/mayBeStored``. If the message is published again with its id, the
    /// receipt of the second attempt arrives. The fault has no effect without a stream.
    ///
    /// - Parameter probability: The probability for each message, from 0 to 1.
    public static func loseReceipt(_ probability: Double) -> Fault { Fault(kind: .loseReceipt(probability)) }
  }
}

struct MemoryFaults: Sendable {
  var duplicate = 0.0
  var drop = 0.0
  var delay = Duration.zero
  var loseReceipt = 0.0

  init(_ faults: [InMemoryTransport.Fault]) {
    for fault in faults {
      switch fault.kind {
      case .duplicate(let probability): duplicate = probability
      case .drop(let probability): drop = probability
      case .delay(let longest): delay = longest
      case .loseReceipt(let probability): loseReceipt = probability
      }
    }
  }
}
