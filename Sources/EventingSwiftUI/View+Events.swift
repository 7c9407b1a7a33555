#if canImport(SwiftUI)
  public import Eventing
  public import SwiftUI

  extension View {
    /// Calls a closure on the main actor with every payload of an event, while the view is shown.
    ///
    ///     ProgressView(value: fraction).onEvent(download.progress) { fraction = $0 }
    ///
    /// The payloads arrive in order, each after the one before was handled, and no post waits for
    /// them. The first one is the first that is sent after the task of the view has begun, which
    /// SwiftUI starts when the view appears and cancels when it disappears. Of an ``Observed``,
    /// use `currentValues`, which begin with the value as it is.
    ///
    /// The view calls the closure of its last update. An event that takes another's place is
    /// noticed. A view of an event, such as `event.filter { … }`, is not: give the view an `id`.
    ///
    /// - Parameters:
    ///   - source: The event, or another source of payloads. The view retains it.
    ///   - action: A closure that is called with each payload.
    /// - Returns: A view that listens.
    public func onEvent<Source: EventSource>(
      _ source: Source, perform action: @escaping @MainActor (Source.Payload) -> Void
    ) -> some View {
      modifier(EventModifier(source: source, action: action))
    }
  }

  /// Listens to an event in the task of a view.
  private struct EventModifier<Source: EventSource>: ViewModifier {
    let source: Source
    let action: @MainActor (Source.Payload) -> Void
    @State private var latest = LatestAction<Source.Payload>()

    func body(content: Content) -> some View {
      latest.action = action
      return content.task(id: identity) { [source, latest] in
        for await payload in source.payloads() { latest.action?(payload) }
      }
    }

    /// The identity of an event; `nil` for a source that is no object.
    private var identity: ObjectIdentifier? {
      Source.self is AnyClass ? ObjectIdentifier(source as AnyObject) : nil
    }
  }

  /// The closure of the last update of a view.
  @MainActor private final class LatestAction<Payload> {
    var action: (@MainActor (Payload) -> Void)?
  }
#endif
