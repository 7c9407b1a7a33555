#if NATS
  import Eventing
  @testable import EventingNATS
  import Foundation
  import Testing

  /// No thread of libnats, and no thread of the engine, runs a handler.
  @Suite(.serialized, .timeLimit(.minutes(1))) struct ThreadTests {
    /// The names of all handlers that were called, and of the handlers that were called outside of
    /// a task. Threads of libnats and of the engine run no tasks, so a handler that was called
    /// inside a task ran on neither.
    private final class Calls: Sendable {
      private let state = Guarded<(all: [String: Int], outside: Set<String>)>(([:], []))

      func note(_ name: String) {
        let isInTask = unsafe withUnsafeCurrentTask { unsafe $0 != nil }
        state.withLock { state in
          state.all[name, default: 0] += 1
          if !isInTask { state.outside.insert(name) }
        }
      }

      var names: Set<String> { state.withLock { Set($0.all.keys) } }
      var outside: Set<String> { state.withLock { $0.outside } }
    }

    @Test func tasksRunAllHandlers() async throws {
      let calls = Calls()
      // Checks first that `Calls` notices a call outside of a task: here a call on a new thread.
      let isOver = Guarded(false)
      Foundation.Thread.detachNewThread {
        calls.note("thread")
        isOver.withLock { $0 = true }
      }
      try await eventually("expected a call of the thread") { isOver.withLock { $0 } }
      #expect(calls.outside == ["thread"])
      let server = try NATSServer()
      let nats = try await server.connect(publishTimeout: .seconds(20))
      nats.incidents.addHandler { incident in calls.note("\(incident.kind)") }
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      for (name, event) in [
        ("stream", RemoteEvent<Int>("test.a", over: stream)), ("plain", RemoteEvent<Int>("a", over: nats.plain)),
      ] {
        event.addHandler { _ in calls.note(name) }
        try await event.listen(as: "one")
        try await event.publish(1)
        try await eventually("expected a call of \(name)") { calls.names.contains(name) }
        event.finish()
      }
      let question = RemoteQuestion<Int, Int>("q", over: nats.plain)
      question.addResponder { number in
        calls.note("question")
        return number
      }
      try await question.listen(as: "one")
      _ = try await question.firstAnswer(to: 1, within: .seconds(20))
      server.end()
      try server.start()
      try await eventually("expected incidents, got \(calls.names)") {
        calls.names.isSuperset(of: ["lost", "reconnected"])
      }
      #expect(calls.names == ["thread", "stream", "plain", "question", "lost", "reconnected"])
      #expect(calls.outside == ["thread"])
      await nats.close()
    }

    /// libnats buffers as many messages as the subscription has room for, and a margin of 1,024.
    @Test func theBufferOfLibnatsIsBounded() async throws {
      let server = try NATSServer()
      let nats = try await server.connect()
      let stream = try await nats.stream("TEST", subjects: ["test.>"])
      var options = SubscribeOptions()
      options.inFlight = 16
      let subscription = try await stream.subscribe("test.a", options) { _ in Handled() }
      let library = try #require((subscription as? StreamSubscription)?.state.withLock { $0.library })
      #expect(library.limit == 1_040)
      subscription.cancel()
      await nats.close()
    }

    private struct Handled: BegunMessage {
      var knownVerdict: Verdict? { .done }
      var verdict: Verdict { get async { .done } }
    }
  }
#endif
