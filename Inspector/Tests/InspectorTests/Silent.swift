import Foundation
import InspectorClient
import Synchronization

/// An app that sends its first line, accepts the client's hello, and answers no other request.
final class Silent: Sendable {
  let path: String
  private let listener: Int32
  private let state = Mutex((lines: [String](), client: LineSocket?.none, ended: false))

  init(path: String, hello: String = #"{"push":"hello","protocol":1,"pid":1,"program":"silent","control":false}"#)
    throws
  {
    self.path = path
    #if canImport(Glibc)
      listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      listener = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = listener
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(descriptor, 4) == 0
      }
    }
    guard bound else { throw LinkError("no socket") }
    Thread.detachNewThread {
      while true {
        let client = accept(descriptor, nil, nil)
        guard client >= 0, !self.state.withLock({ $0.ended }) else { break }
        self.serve(LineSocket(connected: client), hello)
      }
      close(descriptor)
    }
  }

  private func serve(_ socket: LineSocket, _ hello: String) {
    state.withLock { $0.client = socket }
    var buffer = LineBuffer()
    try? socket.write(hello)
    while let line = try? socket.read(&buffer) {
      let text = String(decoding: line, as: UTF8.self)
      if text.contains(#""hello""#) { try? socket.write(#"{"id":1,"ok":true,"protocol":1,"control":false}"#) }
      state.withLock { $0.lines.append(text) }
    }
  }

  var received: String { state.withLock { $0.lines.joined() } }

  func hangUp() { state.withLock { $0.client }?.end() }

  func end() {
    state.withLock { $0.ended = true }
    shutdown(listener, Int32(SHUT_RDWR))
    hangUp()
    unlink(path)
  }
}
