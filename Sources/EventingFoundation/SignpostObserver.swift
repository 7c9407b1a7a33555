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

    public func began(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
      guard signposter.isEnabled else { return }
      let label = label(handler, sequence, event)
      _ = signposter.beginInterval("handler", id: id(handler, sequence), "\(label, privacy: .public)")
    }

    public func ended(
      _ handler: HandlerToken, sequence: UInt64, duration: Duration, error: (any Error)?, in event: EventIdentity
    ) {
      guard signposter.isEnabled else { return }
      let state = OSSignpostIntervalState.beginState(id: id(handler, sequence))
      guard let error else { return signposter.endInterval("handler", state, "returned") }
      // The text of an error may quote a payload, so only its type is public.
      let (kind, text) = ("\(type(of: error))", "\(error)")
      signposter.endInterval("handler", state, "threw \(kind, privacy: .public): \(text, privacy: .private)")
    }

    public func dropped(
      _ handler: HandlerToken, sequence: UInt64, after duration: Duration, in event: EventIdentity
    ) {
      guard signposter.isEnabled else { return }
      let state = OSSignpostIntervalState.beginState(id: id(handler, sequence))
      signposter.endInterval("handler", state, "dropped")
    }

    public func skipped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
      guard signposter.isEnabled else { return }
      let label = label(handler, sequence, event)
      signposter.emitEvent("skipped", id: id(handler, sequence), "\(label, privacy: .public)")
    }

    public func dropped(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
      guard signposter.isEnabled else { return }
      let label = label(handler, sequence, event)
      signposter.emitEvent("dropped", id: id(handler, sequence), "\(label, privacy: .public)")
    }

    public func held(_ handler: HandlerToken, sequence: UInt64, in event: EventIdentity) {
      guard signposter.isEnabled else { return }
      let label = label(handler, sequence, event)
      signposter.emitEvent("held", id: id(handler, sequence), "\(label, privacy: .public)")
    }

    private func label(_ handler: HandlerToken, _ sequence: UInt64, _ event: EventIdentity) -> String {
      "\(event), \(handler.name ?? handler.description), occurrence \(sequence)"
    }

    /// Returns an identifier for the call of a handler for one occurrence. The handler's number
    /// alone would not be enough, because calls of a handler may overlap.
    private func id(_ handler: HandlerToken, _ sequence: UInt64) -> OSSignpostID {
      OSSignpostID(handler.id << 32 | sequence & 0xFFFF_FFFF)
    }
  }
#endif
