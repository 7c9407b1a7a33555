#if NATS
  import Eventing
  import EventingTransport

  /// libnats reports the events on its own threads.
  final class ConnectionEvents: Sendable {
    enum Kind: Sendable {
      case lost
      case reconnected
      case closed
      /// `shown` is the text without secrets.
      case failed(String, shown: String)
    }

    private struct State: Sendable {
      var receive: (@Sendable (Kind) -> Void)?
      var waiting: [Kind] = []
      var isTelling = false
      var watches: [ObjectIdentifier: ErrorWatch] = [:]
    }

    private let state = Guarded(State())
    /// No error text may contain these.
    let secrets: Secrets
    let loginFile: LoginFile

    init(_ secrets: Secrets, _ loginFile: LoginFile = LoginFile(path: "")) {
      self.secrets = secrets
      self.loginFile = loginFile
    }

    /// Events are passed on in their order.
    func tell(_ kind: Kind) {
      state.withLock { $0.waiting.append(kind) }
      tellWaiting()
    }

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

    func fail(_ text: String) {
      for watch in state.withLock({ $0.watches.values.map(\.self) }) { watch.add(text) }
      tell(.failed(text, shown: secrets.hide(in: text)))
    }

    func watchErrors() -> ErrorWatch {
      let watch = ErrorWatch()
      state.withLock { $0.watches[ObjectIdentifier(watch)] = watch }
      return watch
    }

    func endWatch(_ watch: ErrorWatch) {
      state.withLock { _ = $0.watches.removeValue(forKey: ObjectIdentifier(watch)) }
    }

    /// The receiver must not block.
    func receive(_ receive: @escaping @Sendable (Kind) -> Void) {
      state.withLock { $0.receive = receive }
      tellWaiting()
    }
  }

  /// A task posts the incidents in order, so that no thread of libnats runs a handler.
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
