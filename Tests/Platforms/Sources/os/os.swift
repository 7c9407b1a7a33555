import Foundation

// A stand-in for the module `os` of Apple's systems: the declarations that `SignpostObserver` uses.
// The `OSSignposter` here records its signposts, for tests to read.

public struct OSLogPrivacy: Sendable {
  fileprivate let isPublic: Bool
  public static var `public`: OSLogPrivacy { OSLogPrivacy(isPublic: true) }
  public static var `private`: OSLogPrivacy { OSLogPrivacy(isPublic: false) }
}

public struct OSLogInterpolation: StringInterpolationProtocol {
  fileprivate var text = ""
  public init(literalCapacity: Int, interpolationCount: Int) {}
  public mutating func appendLiteral(_ literal: String) { text += literal }
  public mutating func appendInterpolation(
    _ argument: @autoclosure @escaping () -> String, privacy: OSLogPrivacy = .private
  ) { text += privacy.isPublic ? argument() : "<private>" }
}

public struct SignpostMetadata: ExpressibleByStringInterpolation {
  fileprivate let text: String
  public init(stringLiteral value: String) { text = value }
  public init(stringInterpolation: OSLogInterpolation) { text = stringInterpolation.text }
}

public struct OSSignpostID: Hashable, Sendable {
  private let value: UInt64
  public init(_ value: UInt64) { self.value = value }
  public static let exclusive = OSSignpostID(1)
}

// On Apple's systems, `OSSignpostIntervalState` is not `Sendable`, and so the stand-in is not,
// either. An observer must be `Sendable`, so the compiler refuses an observer with a property of
// this type.
public class OSSignpostIntervalState {
  fileprivate let id: OSSignpostID
  private init(_ id: OSSignpostID) { self.id = id }
  public class func beginState(id: OSSignpostID) -> OSSignpostIntervalState { OSSignpostIntervalState(id) }
}

/// The signposts that a test has recorded. The system has no such type.
// Safe: `all` is accessed only while `lock` is held.
@safe public final class RecordedSignposts: @unchecked Sendable {
  public enum Kind: Sendable { case begin, end, point }
  public struct Signpost: Sendable {
    public let kind: Kind
    public let name: String
    public let id: OSSignpostID
    public let message: String
  }
  private let lock = NSLock()
  private var all: [Signpost] = []

  public init() {}

  public var signposts: [Signpost] { lock.withLock { all } }

  fileprivate func add(_ kind: Kind, _ name: StaticString, _ id: OSSignpostID, _ message: SignpostMetadata) {
    lock.withLock { all.append(Signpost(kind: kind, name: "\(name)", id: id, message: message.text)) }
  }
}

public struct OSSignposter: Sendable {
  private let record: RecordedSignposts?
  public init(subsystem: String, category: String) { record = nil }
  /// Creates a signposter that is enabled, as if a tool such as Instruments recorded it. It adds
  /// its signposts to `record`, for a test to read. The system has no such initializer.
  public init(recordingTo record: RecordedSignposts) { self.record = record }
  public var isEnabled: Bool { record != nil }
  public func beginInterval(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata
  ) -> OSSignpostIntervalState {
    record?.add(.begin, name, id, message)
    return .beginState(id: id)
  }
  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState, _ message: SignpostMetadata) {
    record?.add(.end, name, state.id, message)
  }
  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata) {
    record?.add(.point, name, id, message)
  }
}
