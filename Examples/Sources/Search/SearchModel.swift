public import Eventing
public import Observation

/// A view model that searches while its user types.
///
/// A search begins when the user has paused for 300 ms. A later text cancels the running search, so
/// `results` never go back to those of an earlier text. A view binds `text` and shows the other
/// properties.
@MainActor @Observable public final class SearchModel {
  /// The activity of the model, for an indicator.
  public enum State: Equatable, Sendable {
    case idle
    case searching
    case failed(String)
  }

  /// The text of the search field.
  public var text = "" {
    didSet { if text != oldValue { typed.post(text) } }
  }
  /// The results for the latest text whose search has ended.
  public private(set) var results: [String] = []
  public private(set) var state = State.idle

  /// The event that `text` posts each new text to.
  @ObservationIgnored public nonisolated let typed = Event<String>("typed")
  @ObservationIgnored private let find: @Sendable (String) async throws -> [String]

  /// Creates a model.
  ///
  /// - Parameters:
  ///   - clock: The clock that measures the 300 ms without a new text after which a search begins.
  ///     A test passes a manual clock.
  ///   - find: A closure that returns the results for a text.
  public init(
    clock: any Clock<Duration> = ContinuousClock(), find: @escaping @Sendable (String) async throws -> [String]
  ) {
    self.find = find
    typed.add(
      Handler(.named("search"), .debounced(for: .milliseconds(300), clock: clock), .cancellingPrevious, on: .main) {
        [weak self] text in await self?.search(text)
      })
  }

  /// Searches for a text. The handler of `typed` calls this method, in a task that a later text
  /// cancels.
  private func search(_ text: String) async {
    guard !text.isEmpty else {
      (results, state) = ([], .idle)
      return
    }
    state = .searching
    do {
      let found = try await find(text)
      try Task.checkCancellation()  // in case `find` ignores cancellation
      (results, state) = (found, .idle)
    } catch {
      if !Task.isCancelled { state = .failed("\(error)") }  // otherwise a later search has begun
    }
  }
}
