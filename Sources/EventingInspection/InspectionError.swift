public import Foundation

/// The reason for which an inspection cannot begin, or a recording cannot be made or replayed.
public struct InspectionError: Error, CustomStringConvertible {
  /// The kind of the error.
  public struct Code: Hashable, Sendable {
    let name: String
    /// The path is empty or too long, or its folder is missing or may be changed by others.
    public static let badPath = Code(name: "badPath")
    /// The path is taken: by a file, or by a socket on which a program listens.
    public static let pathTaken = Code(name: "pathTaken")
    /// The path, or its folder, is a symbolic link.
    public static let link = Code(name: "link")
    /// The file at the path, or its folder, belongs to another user.
    public static let foreignOwner = Code(name: "foreignOwner")
    /// The system refused a call.
    public static let system = Code(name: "system")
    /// A name was given to a second event of a recording.
    public static let nameTaken = Code(name: "nameTaken")
    /// A line of a recording is cut, or cannot be decoded.
    public static let damagedLine = Code(name: "damagedLine")
    /// A recording has another version.
    public static let version = Code(name: "version")
    /// A recording has an event that a replay has no target for.
    public static let noTarget = Code(name: "noTarget")
  }

  /// The kind of the error.
  public let code: Code
  /// The number of the line of a recording, from 1; `nil` if the error is about no line.
  public let line: Int?
  /// A sentence with what was expected and what there is.
  public let description: String

  init(_ code: Code, _ description: String, line: Int? = nil) {
    self.code = code
    self.description = description
    self.line = line
  }
}

extension InspectionError: LocalizedError {
  /// The description, so that `localizedDescription` returns it, too.
  public var errorDescription: String? { description }
}
