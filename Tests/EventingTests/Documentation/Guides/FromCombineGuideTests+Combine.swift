// Compiled where Combine exists, which is on Apple's platforms.
#if canImport(Combine)
  import Combine
  import Testing

  extension FromCombineGuideTests {
    // swift-format-ignore
    @Test func before() {
      var output: [String] = []
      func print(_ items: Any...) { output.append(items.map { "\($0)" }.joined(separator: " ")) }

      final class Download {
        let progress = PassthroughSubject<Double, Never>()
        @Published var state = "waiting"

        func run() {
          state = "running"
          for step in 1...4 { progress.send(Double(step) / 4) }
          progress.send(completion: .finished)
          state = "done"
        }
      }

      var cancellables = Set<AnyCancellable>()
      let download = Download()
      download.$state.sink { state in print("state:", state) }.store(in: &cancellables)
      download.progress.map { Int($0 * 100) }.filter { $0 > 25 }
        .sink { percent in print("\(percent) %") }.store(in: &cancellables)
      download.run()

      #expect(output == ["state: waiting", "state: running", "50 %", "75 %", "100 %", "state: done"])
      withExtendedLifetime(cancellables) {}
    }
  }
#endif

// The bridge is a product of its own.
#if canImport(Combine) && canImport(EventingCombine)
  import Eventing
  import EventingCombine

  extension FromCombineGuideTests {
    @Test func both() async {
      let (placed, volume, subject) = (Event<Order>("placed"), Observed(0.5), PassthroughSubject<Order, Never>())
      let noted = Recorder<String>()
      @Sendable func note(_ value: some Sendable) { noted.record("\(value)") }

      let ids = placed.publisher.map(\.id).sink { id in note(id) }
      let incoming = subject.forward(to: placed)
      let loudness = volume.publisher.sink { volume in note(volume) }

      subject.send(Order())
      #expect(noted.values.contains("7") && noted.values.contains("0.5"))
      withExtendedLifetime((ids, incoming, loudness)) {}
    }
  }
#endif
