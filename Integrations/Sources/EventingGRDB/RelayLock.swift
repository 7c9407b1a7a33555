import Foundation
import GRDB
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A lock that allows one relay of an outbox at a time, across all processes.
///
/// For a database in a file, the lock is a system lock on a file beside it. The system releases the
/// lock when the process ends, so no timeout decides whether a relay is alive. A suspended relay
/// keeps the lock.
struct RelayLock: Sendable {
  /// The open lock file; `nil` for a database in memory.
  private let file: Int32?
  /// For a database in memory, the element of `taken` that stands for this lock: it identifies the
  /// database and the outbox. Empty for a database in a file.
  private let key: String

  /// The keys of outboxes in memory whose relay is running in this process.
  private static let taken = Mutex<Set<String>>([])

  /// Takes the lock of an outbox for a relay. While another relay of the outbox has the lock, tries
  /// again at the interval.
  static func take(
    _ outbox: String, in database: any DatabaseWriter, lookingEvery interval: Duration, _ clock: any Clock<Duration>
  ) async throws -> RelayLock {
    while true {
      try Task.checkCancellation()
      if let lock = try takeNow(outbox, in: database) { return lock }
      try await clock.sleep(for: min(interval, .hundredYears))
    }
  }

  /// Takes the lock of an outbox for a relay. Returns `nil` if another relay has the lock.
  static func takeNow(_ outbox: String, in database: any DatabaseWriter) throws -> RelayLock? {
    let path = database.path
    guard !path.isEmpty, path != ":memory:", !path.contains("mode=memory") else {
      let key = "\(ObjectIdentifier(database)) \(outbox)"
      return taken.withLock { $0.insert(key).inserted } ? RelayLock(file: nil, key: key) : nil
    }
    // Processes may open one database by different symbolic links. The links are resolved, so that
    // all these processes use one lock file.
    let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path + ".outbox-" + fileName(outbox)
    let file = unsafe open(real, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw OutboxError(.noLockFile, "expected to open \(real); error \(errno)")
    }
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      let error = errno
      if error == EINTR { continue }
      close(file)
      if error == EWOULDBLOCK { return nil }
      throw OutboxError(.noLockFile, "expected to lock \(real); error \(error)")
    }
    return RelayLock(file: file, key: "")
  }

  private init(file: Int32?, key: String) {
    self.file = file
    self.key = key
  }

  /// Returns the name of an outbox, encoded for a file name. No two names have equal encodings.
  private static func fileName(_ outbox: String) -> String {
    outbox.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-", "_"])) ?? "%"
  }

  /// Releases the lock, so that another relay of the outbox can take it. Must be called once.
  func release() {
    if let file { close(file) } else { _ = Self.taken.withLock { $0.remove(key) } }
  }
}
