import Foundation
import Synchronization

/// The class that the article *Replace your broadcaster* replaces.
final class Broadcaster<Value: Sendable>: Sendable {
  private let continuations = Mutex<[UUID: AsyncStream<Value>.Continuation]>([:])

  func values() -> AsyncStream<Value> {
    AsyncStream { continuation in
      let id = UUID()
      continuations.withLock { $0[id] = continuation }
      continuation.onTermination = { _ in self.continuations.withLock { $0[id] = nil } }
    }
  }

  func send(_ value: Value) {
    continuations.withLock { continuations in
      for continuation in continuations.values { continuation.yield(value) }
    }
  }
}
