#if NATS
  import Eventing
  import EventingTransport
  import Foundation

  // Handles the events of the connection, and restores what libnats does not restore.
  //
  // libnats connects again after a lost connection, and subscribes again. But after most error
  // lines of the server it closes the connection for ever, and a subscription that the server
  // refuses later stays dead. So the engine then makes a new connection, or a new subscription.
  extension Engine {
    /// Blocks until the server has taken the subscription.
    func subscribe(
      _ subject: String, group: String?, limit: Int?, within wait: Duration = .seconds(3),
      _ receive: @escaping @Sendable (Arrival) -> Void
    ) throws -> KeptSubscription {
      let kept = KeptSubscription(subject, group: group, limit: limit, receive) { [weak self] in self?.forget($0) }
      do {
        let first = connection
        try kept.begin(on: first, within: wait)
        let isCurrent = state.withLock { state in
          state.kept[ObjectIdentifier(kept)] = kept
          return state.connection === first
        }
        // The connection may have ended meanwhile, and the subscription with it.
        if !isCurrent || first.isClosed {
          kept.lost()
          revive()
        }
        return kept
      } catch {
        kept.end()
        throw error
      }
    }

    private func forget(_ kept: KeptSubscription) {
      let gone = state.withLock { $0.kept.removeValue(forKey: ObjectIdentifier(kept)) }
      withExtendedLifetime(gone) {}
    }

    func handle(_ kind: ConnectionEvents.Kind) {
      switch kind {
      case .lost:
        if noteLost() { incidents.post(TransportIncident(kind: .lost, reason: "the connection was lost")) }
      case .reconnected: noteReconnected()
      case .closed:
        guard noteLost() else { return }
        let text = connection.lastError
        if LoginRefusal.isIn(text) { return endForEver() }
        let shown = connection.connectionEvents.secrets.hide(in: text)
        incidents.post(
          TransportIncident(
            kind: .refused, reason: "the server has ended the connection, which is restored; it says: \(quoted(shown))")
        )
        for kept in state.withLock({ Array($0.kept.values) }) { kept.lost() }
        revive()
      case .failed(let text, let shown):
        pendingRequests.fail(text, shown: shown)
        let named = state.withLock { Array($0.kept.values) }.filter { kept in
          RefusedSubject(kept.subject, for: .subscribe).match(in: text) != nil
        }
        let new = named.filter { $0.refused() }
        guard named.isEmpty || !new.isEmpty else { return }  // reported by an earlier incident
        incidents.post(TransportIncident(kind: .refused, event: new.first?.subject, reason: shown))
        if !named.isEmpty { revive() }
      }
    }

    private func noteLost() -> Bool {
      sendQueue.pause()
      return state.withLock { state in
        state.isConnected = false
        return !state.isClosed
      }
    }

    private func noteReconnected() {
      pendingRequests.connectionWasLost()  // before new requests begin
      let most = connection.largestMessage
      let subscriptions = state.withLock { state in
        state.isConnected = true
        state.largestMessage = most
        return Array(state.subscriptions.values)
      }
      // Before the send queue resumes, each subscription to a stream forgets its open pulls
      // (requests for messages). So the pulls that still wait in the send queue are not sent any
      // more.
      for subscription in subscriptions { subscription.reconnected() }
      sendQueue.resume()
      endWaits { _ in true }
      incidents.post(TransportIncident(kind: .reconnected, reason: "the connection is there again"))
    }

    private func endForEver() {
      guard markClosed() else { return }
      incidents.post(
        TransportIncident(kind: .refused, reason: "the server refuses this connection for ever: it was closed"))
    }

    // MARK: Restoring

    private func revive() {
      let isFirst = state.withLock { state in
        defer { (state.isReviving, state.mustRevive) = (true, true) }
        return !state.isReviving
      }
      guard isFirst else { return }
      // A thread, because to connect and to subscribe block.
      Foundation.Thread.detachNewThread { [weak self] in
        var attempts = Attempts()
        while let pause = self?.reviveOnce(&attempts) { Foundation.Thread.sleep(forTimeInterval: pause) }
      }
    }

    private struct Attempts {
      var isNew = false
      var count = 0
      var refusedLogins = 0
    }

    /// Returns the seconds until the next attempt; `nil` if nothing is left to restore.
    private func reviveOnce(_ attempts: inout Attempts) -> Double? {
      let isOpen = state.withLock { state in
        state.mustRevive = false
        return !state.isClosed && !state.isClosing
      }
      guard isOpen else { return nil }
      if connection.isClosed {
        do { try connectOnce() } catch {
          attempts.count += 1
          attempts.refusedLogins = LoginRefusal.isIn("\(error)") ? attempts.refusedLogins + 1 : 0
          if attempts.refusedLogins >= 2 {
            endForEver()
            return nil
          }
          return min(2, 0.1 * Double(attempts.count))
        }
        attempts = Attempts(isNew: true)
      }
      let connection = connection
      for kept in state.withLock({ Array($0.kept.values) }) where kept.nextAttempt.map({ $0 <= .now }) ?? false {
        do {
          let wasRefused = kept.isRefused
          try kept.begin(on: connection)
          if wasRefused {
            let reason = "the server takes the listening again"
            incidents.post(
              TransportIncident(kind: .reconnected, subject: kept.subject, event: kept.subject, reason: reason))
          }
        } catch {
          if kept.refused() {
            incidents.post(
              TransportIncident(kind: .refused, subject: kept.subject, event: kept.subject, reason: "\(error)"))
          }
          if connection.isClosed { return 0.1 }  // this subscription has ended the connection
        }
      }
      if attempts.isNew {
        attempts.isNew = false
        noteReconnected()
      }
      if state.withLock({ Array($0.kept.values) }).contains(where: { $0.nextAttempt != nil }) { return 0.2 }
      return state.withLock { state in
        state.isReviving = state.mustRevive
        return state.mustRevive ? 0 : nil
      }
    }

    private func connectOnce() throws {
      let new = try connectAgain()
      let (old, isOpen) = state.withLock { state -> (LibraryConnection, Bool) in
        guard !state.isClosed, !state.isClosing else { return (new, false) }
        defer { state.connection = new }
        return (state.connection, true)
      }
      if !isOpen { new.close() }
      withExtendedLifetime(old) {}
      for kept in state.withLock({ Array($0.kept.values) }) { kept.lost() }
    }
  }

  private enum LoginRefusal {
    static func isIn(_ text: String) -> Bool {
      let text = text.lowercased()
      return text.contains("authorization violation") || text.contains("authentication")
    }
  }
#endif
