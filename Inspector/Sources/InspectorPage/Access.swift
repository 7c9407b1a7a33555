/// Decides which requests are the page's own.
///
/// A browser lets any page send requests to loopback. Three checks keep other pages out. The token
/// is only in the fragment of the page's URL, and browsers send fragments nowhere. The host must be
/// `127.0.0.1` or `localhost`, so no other name leads here. The origin must be the page's own, and
/// no page can choose its origin. No answer has a header that lets another origin read it.
struct Access: Sendable {
  /// The secret of the page: 128 random bits in hexadecimal.
  let token: String
  private let hosts: [String]

  init(port: UInt16, token: String = Access.makeToken()) {
    self.token = token
    hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
  }

  private static func makeToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let hex = String(generator.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - hex.count) + hex
    }.joined()
  }

  /// The headers of a request that say where it comes from.
  struct Claim {
    var host: String?
    var origin: String?
    var site: String?
    var authorization: String?
    /// Whether the request may change something, because its method is not GET.
    var changes = false
    /// Whether the request reads one of the page's own files, which hold no data of the app.
    var isPublic = false
  }

  enum Answer { case allowed, misdirected, forbidden, unauthorized }

  /// Returns whether a request is allowed; if it is not, which check has refused it.
  func judge(_ claim: Claim) -> Answer {
    guard let host = claim.host?.lowercased(), hosts.contains(host) else { return .misdirected }
    if let origin = claim.origin, origin != "http://\(host)" { return .forbidden }
    if claim.changes, claim.origin == nil { return .forbidden }
    if let site = claim.site, !["same-origin", "none"].contains(site), !claim.isPublic { return .forbidden }
    guard !claim.isPublic else { return .allowed }
    return isEqual(claim.authorization ?? "", "Bearer \(token)") ? .allowed : .unauthorized
  }

  /// Returns whether two texts are equal, in a time that does not depend on where they differ.
  private func isEqual(_ left: String, _ right: String) -> Bool {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
