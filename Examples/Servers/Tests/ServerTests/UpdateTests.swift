import Eventing
import Hummingbird
import NIOCore
import ServiceLifecycle
import Testing
import Updates

@Suite(.timeLimit(.minutes(5))) struct UpdateTests {
  /// Runs the service on a free port while `body` runs. `body` may shut the service down before it
  /// returns.
  func withService(
    _ body: @escaping @Sendable (UpdateService, _ port: Int, ServiceGroup) async throws -> Void
  ) async throws {
    let service = UpdateService()
    let ready = Event<Int>("ready", replaying: .last(1))
    let application = service.application(port: 0) { port in ready.post(port) }
    let group = ServiceGroup(configuration: .init(services: [application], logger: application.logger))
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      tasks.addTask {
        let port = try await ready.next()
        try await body(service, port, group)
        await group.triggerGracefulShutdown()
      }
      try await tasks.waitForAll()
    }
  }

  /// Publishes an update over a new connection, and returns the status line.
  func post(_ text: String, port: Int) async throws -> String {
    try await withLineClient(port: port) { reader, writer in
      let head = "POST /updates HTTP/1.1\r\nhost: localhost\r\ncontent-length: \(text.utf8.count)\r\n\r"
      try await writer.write("\(head)\n\(text)")
      return try await reader.next()
    }
  }

  /// Opens a stream, and reads the head of the response.
  func open(_ reader: inout LineReader, _ writer: LineWriter) async throws {
    try await writer.write("GET /updates HTTP/1.1\r\nhost: localhost\r\n\r")
    #expect(try await reader.next() == "HTTP/1.1 200 OK")
    var head: [String] = []
    while let line = try? await reader.next(), !line.isEmpty { head.append(line.lowercased()) }
    #expect(head.contains("content-type: text/event-stream"))
  }

  @Test func everyStreamGetsWhatIsPosted() async throws {
    try await withService { service, port, _ in
      try await withLineClient(port: port) { first, firstWriter in
        try await open(&first, firstWriter)
        try await withLineClient(port: port) { second, secondWriter in
          try await open(&second, secondWriter)
          #expect(service.updates.handlerCount == 2)
          for text in ["one", "two"] {
            #expect(try await post(text, port: port) == "HTTP/1.1 202 Accepted")
            #expect(try await first.next { $0.hasPrefix("data: ") } == "data: \(text)")
            #expect(try await second.next { $0.hasPrefix("data: ") } == "data: \(text)")
          }
        }
      }
    }
  }

  @Test func aClientThatDisconnectsEndsItsHandler() async throws {
    try await withService { service, port, _ in
      for _ in 0..<3 {
        try await withLineClient(port: port) { reader, writer in
          try await open(&reader, writer)
          #expect(service.updates.handlerCount == 1)
        }
        // Nothing is posted: the service must notice the end of the connection without a post.
        try await eventually { service.updates.handlerCount == 0 }
      }
      #expect(try await post("to none", port: port) == "HTTP/1.1 202 Accepted")
    }
  }

  @Test func aGracefulShutdownEndsTheStreamsAfterWhatWasPosted() async throws {
    try await withService { service, port, group in
      try await withLineClient(port: port) { reader, writer in
        try await open(&reader, writer)
        service.updates.post("the last one")
        await group.triggerGracefulShutdown()
        #expect(try await reader.next { $0.hasPrefix("data: ") } == "data: the last one")
        #expect(try await reader.next { $0 == "0" } == "0")  // an empty chunk ends the response
      }
      #expect(service.updates.isFinished)
      try await eventually { service.updates.handlerCount == 0 }
    }
  }

  @Test func linesOfAnUpdateAreFieldsOfOneEvent() async throws {
    try await withService { service, port, _ in
      try await withLineClient(port: port) { reader, writer in
        try await open(&reader, writer)
        service.updates.post("first\nsecond")
        #expect(try await reader.next { $0.hasPrefix("data: ") } == "data: first")
        #expect(try await reader.next() == "data: second")
        #expect(try await reader.next() == "")
        service.updates.post("third\r\nevent: other\rfourth")
        for line in ["data: third", "data: event: other", "data: fourth"] {
          #expect(try await reader.next { $0.hasPrefix("data: ") } == line)
        }
      }
    }
  }
}
