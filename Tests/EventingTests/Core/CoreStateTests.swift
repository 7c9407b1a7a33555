#if DEBUG
  import Synchronization
  import Testing

  @testable import Eventing

  /// Tests of how a thread enters the core, and of where in memory the core's fields lie.
  @Suite(.fewAtATime) struct CoreStateTests {
    private let core = EventCore(Int.self, nil)
    private let own: UInt = 0x1000 | CoreState.busy

    @Test func aThreadThatFindsTheEventIdleEnters() {
      #expect(core.enterSoon(own) == own)
      #expect(core.stateWord.load(ordering: .relaxed) == own)
    }

    /// Checks that a thread fails to enter while any thread, itself included, or a drain is inside.
    ///
    /// A thread also fails to enter an idle event with the bit `mustEnqueue`.
    @Test(arguments: [
      0x2000 | CoreState.busy, 0x2000 | CoreState.busy | CoreState.queued, 0x1000 | CoreState.busy,
      0x1000 | CoreState.busy | CoreState.queued, CoreState.busy,
      CoreState.busy | CoreState.queued, CoreState.mustEnqueue,
    ])
    func aThreadThatFindsTheEventBusyDoesNotEnter(word: UInt) {
      core.stateWord.store(word, ordering: .relaxed)
      #expect(core.enterSoon(own) == 0)
      #expect(core.stateWord.load(ordering: .relaxed) == word)
    }

    @Test func ofSeveralThreadsThatSpinOnlyOneIsInside() async {
      let core = core
      let count = ConditionLock(0)
      await onThreads(4) { thread in
        let own = UInt(thread + 1) << 12 | CoreState.busy
        for _ in 0..<20_000 {
          guard core.enterSoon(own) == own else { continue }
          count.withLock { $0 += 1 }
          #expect(core.stateWord.load(ordering: .relaxed) == own)
          #expect(core.tryLeave(own))
        }
      }
      #expect(count.withLock { $0 } > 0)
      #expect(core.stateWord.load(ordering: .relaxed) == 0)
    }

    /// Checks that a delivery shares no cache line (64 bytes) with contending threads.
    ///
    /// The fields that a delivery uses must not share a line with the fields that other threads
    /// write: to enqueue, or to make and release tokens.
    @Test func deliveryAndContendingThreadsDoNotShareCacheLines() {
      let anchor = core.anchor, rareState = core.rareState
      let word = address(of: core.stateWord), mutex = address(of: core.mutex)
      #expect(abs(mutex - word) < 16)
      for place in unsafe [address(of: &core.sequence), address(of: &core.table.first)] {
        #expect(abs(place - word) >= 64 && abs(place - mutex) >= 64)
      }
      let counts = unsafe Int(bitPattern: Unmanaged.passUnretained(anchor).toOpaque()) + 8
      for place in [
        address(of: anchor.changes), address(of: &anchor.fastPathEpoch), address(of: &anchor.postFastPathEpoch),
      ] {
        #expect(abs(place - counts) >= 64)
      }
      for place in [address(of: &rareState.batch), address(of: rareState.historyReference)] {
        for other in [
          address(of: &rareState.mailbox), address(of: &rareState.mailbox.items),
          address(of: &rareState.mailbox.unregistering),
        ] {
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
