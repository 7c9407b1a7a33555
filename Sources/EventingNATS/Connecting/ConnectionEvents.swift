#if NATS
  import Eventing
  import EventingTransport

  /// The events of a connection, which libnats reports on its own threads.
  final class ConnectionEvents: Sendable {
    enum Kind: Sendable {
      case lost
      case reconnected
      case closed
      case failed(String)
    }

    private struct State: Sendable {
      var receive: (@Sendable (Kind) -> Void)?
      /// The events that were reported before the receiver was set.
      var early: [Kind] = []
      /// The error texts since the begin of each watch.
      var watched: [UInt64: [String]] = [:]
      var lastWatch: UInt64 = 0
    }

    private let state = Guarded(State())
    /// The secrets that no error text may contain.
    let secrets: Secrets

    init(_ secrets: Secrets) { self.secrets = secrets }

    func tell(_ kind: Kind) {
      let receive = state.withLock { state in
        if state.receive == nil { state.early.append(kind) }
        return state.receive
      }
      receive?(kind)
    }

    /// Reports an error text of the server.
    func fail(_ text: String) {
      state.withLock { state in
        for watch in state.watched.keys { state.watched[watch]?.append(text) }
      }
      tell(.failed(secrets.hide(in: text)))
    }

    /// Begins to collect the error texts of the server, for ``errors(since:)``.
    func watchErrors() -> UInt64 {
      state.withLock { state in
        state.lastWatch += 1
        state.watched[state.lastWatch] = []
        return state.lastWatch
      }
    }

    /// The error texts since the begin of a watch.
    func errors(since watch: UInt64) -> [String] { state.withLock { $0.watched[watch] ?? [] } }

    func endWatch(_ watch: UInt64) { state.withLock { $0.watched[watch] = nil } }

    /// Sets the receiver. It must not block.
    func receive(_ receive: @escaping @Sendable (Kind) -> Void) {
      let early = state.withLock { state in
        state.receive = receive
        defer { state.early = [] }
        return state.early
      }
      for kind in early { receive(kind) }
    }
  }

  /// Posts incidents in order. A task posts them, so that no thread of libnats runs a handler.
  final class Incidents: Sendable {
    private struct State: Sendable {
      var waiting: [TransportIncident] = []
      var isPosting = false
    }

    private let event = Event<TransportIncident>("incidents")
    private let state = Guarded(State())

    var source: any EventSource<TransportIncident> { event.source }

    func post(_ incident: TransportIncident) {
      let mustStart = state.withLock { state in
        state.waiting.append(incident)
        defer { state.isPosting = true }
        return !state.isPosting
      }
      guard mustStart else { return }
      Scheduling.task(priority: nil, on: nil) { [self] in
        while let incident = next() { event.post(incident) }
      }
    }

    private func next() -> TransportIncident? {
      state.withLock { state in
        state.isPosting = !state.waiting.isEmpty
        return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
      }
    }
  }
#endif
