#if DEBUG
  import Synchronization
  import Testing

  @testable import Eventing

  /// The way into an event, and where in memory that is.
  @Suite(.fewAtATime, .timeLimit(.minutes(30))) struct EnteringTests {
    private let mailbox = Mailbox(Int.self)
    private let own: UInt = 0x1000 | Word.busy

    @Test func whoFindsAnIdleEventIsInside() {
      #expect(mailbox.enterSoon(own) == own)
      #expect(mailbox.word.load(ordering: .relaxed) == own)
    }

    /// Whoever is inside: it does not wait for anybody.
    @Test(arguments: [
      0x2000 | Word.busy, 0x2000 | Word.busy | Word.queued, 0x1000 | Word.busy, 0x1000 | Word.busy | Word.queued, Word.busy,
      Word.busy | Word.queued, Word.keeping,
    ])
    func whoFindsItBusyGoesOn(word: UInt) {
      mailbox.word.store(word, ordering: .relaxed)
      #expect(mailbox.enterSoon(own) == 0)
      #expect(mailbox.word.load(ordering: .relaxed) == word)
    }

    @Test func onlyOneOfThoseWhoComeSoonIsInside() async {
      let mailbox = mailbox
      let count = Guarded(0)
      await onThreads(4) { thread in
        let own = UInt(thread + 1) << 12 | Word.busy
        for _ in 0..<20_000 {
          guard mailbox.enterSoon(own) == own else { continue }
          count.withLock { $0 += 1 }
          #expect(mailbox.word.load(ordering: .relaxed) == own)
          #expect(mailbox.tryLeave(own))
        }
      }
      #expect(count.withLock { $0 } > 0)
      #expect(mailbox.word.load(ordering: .relaxed) == 0)
    }

    /// What delivers reads and writes nothing that lies on a line of the cache, 64 bytes, with what those write who queue, or who make and drop tokens.
    @Test func whoDeliversAndWhoQueuesDoNotShareLines() {
      let home = mailbox.home, backlog = mailbox.backlog
      let word = address(of: mailbox.word), lock = address(of: mailbox.lock)
      #expect(abs(lock - word) < 16)
      for place in unsafe [address(of: &mailbox.sequence), address(of: &mailbox.table.first)] {
        #expect(abs(place - word) >= 64 && abs(place - lock) >= 64)
      }
      let counts = unsafe Int(bitPattern: Unmanaged.passUnretained(home).toOpaque()) + 8
      for place in [address(of: home.changes), address(of: &home.settled), address(of: &home.settledForPosts)] {
        #expect(abs(place - counts) >= 64)
      }
      for place in [address(of: &backlog.pending), address(of: backlog.historyReference)] {
        for other in [address(of: &backlog.occurrences), address(of: &backlog.queue), address(of: &backlog.leaving)] {
          #expect(abs(place - other) >= 64)
        }
      }
    }

    private func address<Value: ~Copyable>(of value: borrowing Value) -> Int {
      unsafe withUnsafePointer(to: value) { Int(bitPattern: $0) }
    }

    private func address<Value: ~Copyable>(of value: inout Value) -> Int {
      unsafe withUnsafeMutablePointer(to: &value) { Int(bitPattern: $0) }
    }
  }
#endif
