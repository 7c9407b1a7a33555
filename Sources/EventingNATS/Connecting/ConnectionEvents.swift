#if NATS
  import Eventing
  import EventingTransport

  /// The events of a connection, which libnats reports on its own threads.
  final class ConnectionEvents: Sendable {
    enum Kind: Sendable {
      case lost
      case reconnected
      case closed
      /// The server reported an error: its text, and the text without secrets.
      case failed(String, shown: String)
    }

    private struct State: Sendable {
      var receive: (@Sendable (Kind) -> Void)?
      /// The events that the receiver has not got yet, in order.
      var waiting: [Kind] = []
      /// Whether a thread is passing an event to the receiver.
      var isTelling = false
      var watches: [ObjectIdentifier: ErrorWatch] = [:]
    }

    private let state = Guarded(State())
    /// The secrets that no error text may contain.
    let secrets: Secrets
    let loginFile: LoginFile

    init(_ secrets: Secrets, _ loginFile: LoginFile = LoginFile(path: "")) {
      self.secrets = secrets
      self.loginFile = loginFile
    }

    /// Reports an event to the receiver, after all earlier events.
    func tell(_ kind: Kind) {
      state.withLock { $0.waiting.append(kind) }
      tellWaiting()
    }

    /// Passes the waiting events to the receiver, unless another thread does.
    private func tellWaiting() {
      while true {
        let next = state.withLock { state -> (Kind, @Sendable (Kind) -> Void)? in
          guard !state.isTelling, let receive = state.receive, !state.waiting.isEmpty else { return nil }
          state.isTelling = true
          return (state.waiting.removeFirst(), receive)
        }
        guard let (kind, receive) = next else { return }
        receive(kind)
        state.withLock { $0.isTelling = false }
      }
    }

    /// Reports an error text of the server.
    func fail(_ text: String) {
      for watch in state.withLock({ $0.watches.values.map(\.self) }) { watch.add(text) }
      tell(.failed(text, shown: secrets.hide(in: text)))
    }

    /// Begins to collect the error texts of the server, until ``endWatch(_:)``.
    func watchErrors() -> ErrorWatch {
      let watch = ErrorWatch()
      state.withLock { $0.watches[ObjectIdentifier(watch)] = watch }
      return watch
    }

    func endWatch(_ watch: ErrorWatch) {
      state.withLock { _ = $0.watches.removeValue(forKey: ObjectIdentifier(watch)) }
    }

    /// Sets the receiver. It must not block.
    func receive(_ receive: @escaping @Sendable (Kind) -> Void) {
      state.withLock { $0.receive = receive }
      tellWaiting()
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
