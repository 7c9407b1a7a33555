#if canImport(SwiftUI)
  public import Eventing
  public import SwiftUI

  extension View {
    /// Calls a closure on the main actor with every payload of an event, while the view is shown.
    ///
    ///     ProgressView(value: fraction).onEvent(download.progress) { fraction = $0 }
    ///
    /// The payloads arrive in order, each after the one before was handled. No post waits for them.
    /// SwiftUI starts the task of the view when the view appears, and cancels it when the view
    /// disappears. The first payload is the first one sent after that task has begun. An
    /// ``Observed`` begins with its current value.
    ///
    /// The view calls the closure of its last update. If an update passes another event, the
    /// SwiftUI view listens to that event. But if the source is a view of an event, such as
    /// `event.filter { … }`, another source is not noticed: give the SwiftUI view an `id` that
    /// changes with the source.
    ///
    /// - Parameters:
    ///   - source: The event, or another source of payloads. The view retains it.
    ///   - action: A closure that is called with each payload.
    /// - Returns: A view that calls `action` while it is shown.
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

    /// The identity of an event; `nil` for a source that is not an object.
    private var identity: ObjectIdentifier? {
      Source.self is AnyClass ? ObjectIdentifier(source as AnyObject) : nil
    }
  }

  /// The closure that the last update of a view passed.
  @MainActor private final class LatestAction<Payload> {
    var action: (@MainActor (Payload) -> Void)?
  }
#endif
