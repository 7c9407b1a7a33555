#if NATS
  import Dispatch
  import Eventing

  final class ErrorWatch: Sendable {
    private let collected = Guarded<[String]>([])
    private let arrival = DispatchSemaphore(value: 0)

    var texts: [String] { collected.withLock { $0.map { $0 } } }

    func add(_ text: String) {
      collected.withLock { $0.append(text) }
      arrival.signal()
    }

    /// `nil` if the server has not refused the subscription. Blocks for at most a second.
    ///
    /// libnats reports errors in order, on another thread, and stores only the last one in the
    /// connection. A refusal is the stored error or came before it. So this waits until the stored
    /// error is reported, if it differs from `lastBefore`, the one at the beginning, or names the
    /// subject.
    func refusal(of subject: String, last: String, before lastBefore: String) -> String? {
      let subject = RefusedSubject(subject, for: .subscribe)
      let mustWait = !last.isEmpty && (last != lastBefore || subject.match(in: last) != nil)
      let end = DispatchTime.now() + 1
      while mustWait, !texts.contains(last), arrival.wait(timeout: end) == .success {}
      return texts.first { subject.match(in: $0) != nil }
    }
  }
#endif
