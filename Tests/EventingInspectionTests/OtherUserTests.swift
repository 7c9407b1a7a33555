import Foundation
import Testing

@testable import EventingInspection

private let perl = "/usr/bin/perl"

/// Tests of guarantee S4: other users get nothing. Only root can run a client as another user.
@Suite(.serialized, .enabled(if: geteuid() == 0 && FileManager.default.fileExists(atPath: perl)))
struct OtherUserTests {
  private static let nobody: uid_t = 65_534

  /// Runs a client as another user, or as root. Returns 1 if the server sent anything, 0 if the
  /// server only closed the connection, 2 if the client could not connect, and 3 if the client
  /// failed.
  private static func told(asNobody: Bool, at path: String) async throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: perl)
    let script = """
      use POSIX; use Socket; if ($ARGV[1]) { POSIX::setuid($ARGV[1]) or exit 3 }
      socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 3; connect(S, sockaddr_un($ARGV[0])) or exit 2;
      exit(sysread(S, $x, 1) ? 1 : 0);
      """
    process.arguments = ["-e", script, path, asNobody ? "\(nobody)" : "0"]
    try process.run()
    _ = await eventually { !process.isRunning }
    return process.terminationStatus
  }

  @Test func aPeerOfAnotherUserIsToldNothing() async throws {
    try await Serving.with { inspection in
      let closed = try await OtherUserTests.told(asNobody: true, at: inspection.path)
      #expect(closed == 2, "the mode is 0600")
      #expect(unsafe chmod(inspection.path, 0o666) == 0)
      let refused = try await OtherUserTests.told(asNobody: true, at: inspection.path)
      #expect(refused == 0 && inspection.counts.refused == 1)
      let root = try await OtherUserTests.told(asNobody: false, at: inspection.path)
      #expect(root == 1)
    }
  }

  @Test func whatBelongsToAnotherUserIsRefused() throws {
    func code(_ path: String) -> InspectionError.Code? {
      do {
        try Inspection.serve(at: path).end()
        return nil
      } catch { return error.code }
    }
    let path = Serving.path()
    let dead = try SocketFile(path)
    close(dead.descriptor)  // as if the program had died
    defer { unsafe unlink(path) }
    #expect(unsafe chown(path, OtherUserTests.nobody, 0) == 0)
    #expect(code(path) == .foreignOwner && FileManager.default.fileExists(atPath: path))
    let folder = Serving.path()
    let isMade = unsafe mkdir(folder, 0o700) == 0 && chown(folder, OtherUserTests.nobody, 0) == 0
    defer { unsafe rmdir(folder) }
    #expect(isMade && code(folder + "/s") == .foreignOwner)
  }
}
