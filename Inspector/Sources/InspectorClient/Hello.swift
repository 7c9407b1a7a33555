/// The first line that an app says to a client.
public struct Hello: Sendable {
  /// The line, as the app wrote it.
  public let slice: JSONSlice
  /// The number of the process.
  public let pid: Int
  /// When the app's clock began, in milliseconds since 1970.
  public let epoch: Int
  /// The name of the program.
  public let program: String
  /// Whether the app allows clients to lock and unlock.
  public let control: Bool

  init(_ slice: JSONSlice) throws(LinkError) {
    let members = slice.members ?? [:]
    if members["push"]?.string == "error" { throw LinkError(of: members["error"]) }
    guard members["push"]?.string == "hello" else { throw LinkError("the socket speaks another protocol") }
    guard members["protocol"]?.int == 1 else {
      throw LinkError("the app speaks version \(members["protocol"]?.int ?? 0) of the protocol, expected 1")
    }
    self.slice = slice
    pid = members["pid"]?.int ?? 0
    epoch = members["epoch"]?.int ?? 0
    program = members["program"]?.string ?? "?"
    control = members["control"]?.bool ?? false
  }
}

extension LinkError {
  /// Creates the error that an answer or a push of the app contains.
  init(of error: JSONSlice?) {
    let members = error?.members
    self.init(members?["message"]?.string ?? "the app refused", code: members?["code"]?.string ?? "unknown")
  }
}
