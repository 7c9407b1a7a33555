// The declarations of os that `SignpostObserver` uses.

public struct OSLogPrivacy: Sendable {
  public static var `public`: OSLogPrivacy { OSLogPrivacy() }
  public static var `private`: OSLogPrivacy { OSLogPrivacy() }
}

public struct OSLogInterpolation: StringInterpolationProtocol {
  public init(literalCapacity: Int, interpolationCount: Int) {}
  public mutating func appendLiteral(_ literal: String) {}
  public mutating func appendInterpolation(
    _ argument: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .private
  ) {}
}

public struct SignpostMetadata: ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) {}
  public init(stringInterpolation: OSLogInterpolation) {}
}

public struct OSSignpostID: Hashable, Sendable {
  public init(_ value: UInt64) {}
  public static let exclusive = OSSignpostID(1)
}

// Not Sendable, as in the system. So an observer that stores such a state would not compile.
public class OSSignpostIntervalState {
  public class func beginState(id: OSSignpostID) -> OSSignpostIntervalState { fatalError("a stub") }
}

public struct OSSignposter: Sendable {
  public init(subsystem: String, category: String) {}
  public var isEnabled: Bool { false }
  public func beginInterval(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata
  ) -> OSSignpostIntervalState { fatalError("a stub") }
  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState, _ message: SignpostMetadata) {}
  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata) {}
}
