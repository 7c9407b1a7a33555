#if canImport(os)
  public import Eventing
  public import os

  /// An observer that shows the calls of handlers as intervals in Instruments.
  ///
  ///     let signposter = OSSignposter(subsystem: "com.example.app", category: "events")
  ///     let watching = progress.observe(with: SignpostObserver(signposter))
  ///
  /// Each call is an interval `handler`, whose message names the event, the handler and the
  /// occurrence. An occurrence that a handler skips, drops or holds is a point `skipped`, `dropped`
  /// or `held`. While no tool records, the observer only reads `isEnabled` of the signposter.
  public struct SignpostObserver: EventObserver {
    private let signposter: OSSignposter

    /// Creates an observer.
    ///
    /// - Parameter signposter: The signposter that receives the intervals.
    public init(_ signposter: OSSignposter) { self.signposter = signposter }

    public func observe(_ step: EventStep) {
      guard signposter.isEnabled, let handler = step.handler, let sequence = step.sequence else { return }
      let id = id(handler, sequence)
      let label = "\(step.event), \(handler.name ?? handler.description), occurrence \(sequence)"
      switch step.kind {
      case .began: _ = signposter.beginInterval("handler", id: id, "\(label, privacy: .public)")
      case .ended:
        let state = OSSignpostIntervalState.beginState(id: id)
        guard let error = step.error else { return signposter.endInterval("handler", state, "returned") }
        // The text of an error may quote a payload, so only its type is public.
        let (kind, text) = ("\(type(of: error))", "\(error)")
        signposter.endInterval("handler", state, "threw \(kind, privacy: .public): \(text, privacy: .private)")
      case .dropped where step.duration != nil:
        signposter.endInterval("handler", OSSignpostIntervalState.beginState(id: id), "dropped")
      case .dropped: signposter.emitEvent("dropped", id: id, "\(label, privacy: .public)")
      case .skipped: signposter.emitEvent("skipped", id: id, "\(label, privacy: .public)")
      case .held: signposter.emitEvent("held", id: id, "\(label, privacy: .public)")
      default: break
      }
    }

    /// Returns an identifier for the call of a handler for one occurrence. The handler's number
    /// alone would not be enough, because calls of a handler may overlap.
    private func id(_ handler: HandlerToken, _ sequence: UInt64) -> OSSignpostID {
      OSSignpostID(handler.id << 32 | sequence & 0xFFFF_FFFF)
    }
  }
#endif
