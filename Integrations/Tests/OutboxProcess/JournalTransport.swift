import Eventing
import EventingTransport
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An engine whose stream is a file, so that the stream outlives the process.
///
/// When the process ends, the engine loses every acknowledgement. So a new process receives all
/// messages again.
final class JournalTransport: Transport {
  private let base: InMemoryTransport
  private let file: Mutex<FileHandle>

  /// Opens the journal, and publishes its messages to the stream in memory.
  init(_ path: String) async throws {
    // Several processes may start at one time. This call creates the file only if it is missing,
    // and never truncates it. `FileManager.createFile` would empty the journal of another process.
    let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw TransportError(.refused, "expected a journal at \(path); error \(errno)") }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let base = InMemoryTransport()
    for entry in JournalEntry.read(try file.readToEnd() ?? Data()) {
      _ = try await base.publish(RemoteMessage(id: entry.id, body: entry.body), to: entry.subject)
    }
    self.base = base
    self.file = Mutex(file)
  }

  var identity: String { base.identity }
  var promises: TransportPromises { base.promises }
  var incidents: any EventSource<TransportIncident> { base.incidents }

  func publish(_ message: RemoteMessage, to subject: String) async throws -> Receipt {
    let line = try JSONEncoder().encode(JournalEntry(id: message.id, subject: subject, body: message.body))
    // The file was opened with O_APPEND, so the line follows the lines of other processes.
    try file.withLock { try $0.write(contentsOf: line + [10]) }
    return try await base.publish(message, to: subject)
  }

  func subscribe(
    _ subject: String, _ options: SubscribeOptions, _ begin: @escaping @Sendable (RemoteMessage) -> any BegunMessage
  ) async throws -> any TransportSubscription { try await base.subscribe(subject, options, begin) }

  func request(_ message: RemoteMessage, to subject: String, within limit: Duration) async throws -> RemoteMessage {
    try await base.request(message, to: subject, within: limit)
  }

  func respond(
    to subject: String, group: String?, inFlight: Int,
    _ answer: @escaping @Sendable (RemoteMessage) async -> RemoteMessage
  ) async throws -> any TransportSubscription {
    try await base.respond(to: subject, group: group, inFlight: inFlight, answer)
  }
}

/// A line of the journal.
struct JournalEntry: Codable {
  let id: String
  let subject: String
  let body: [UInt8]

  /// Returns the entries of a journal, except an unfinished last line.
  static func read(_ journal: Data) -> [JournalEntry] {
    journal.split(separator: 10).compactMap { try? JSONDecoder().decode(JournalEntry.self, from: $0) }
  }
}
