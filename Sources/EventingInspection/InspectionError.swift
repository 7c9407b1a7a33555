/// The reason for which there is no inspection.
public struct InspectionError: Error, CustomStringConvertible {
  /// The kind of the error.
  public struct Code: Hashable, Sendable {
    let name: String
    /// The path is empty, too long, or in a folder that others may change.
    public static let badPath = Code(name: "badPath")
    /// There is a file at the path, or a program listens there.
    public static let pathTaken = Code(name: "pathTaken")
    /// The path, or its folder, is a symbolic link.
    public static let link = Code(name: "link")
    /// The file at the path, or its folder, belongs to another user.
    public static let foreignOwner = Code(name: "foreignOwner")
    /// The system refused a call.
    public static let system = Code(name: "system")
  }

  /// The kind of the error.
  public let code: Code
  /// A sentence with what was expected and what there is.
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
