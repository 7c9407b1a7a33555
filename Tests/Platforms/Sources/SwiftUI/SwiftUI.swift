// Stubs of the declarations of SwiftUI that the bridge uses, with Apple's isolation and
// sendability. They draw nothing.

@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

extension Never: View {
  public var body: Never { fatalError("no view") }
}

@resultBuilder public struct ViewBuilder {
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
}

@MainActor @preconcurrency public protocol ViewModifier {
  associatedtype Body: View
  typealias Content = _ViewModifier_Content<Self>
  @ViewBuilder @MainActor @preconcurrency func body(content: Self.Content) -> Self.Body
}

public struct _ViewModifier_Content<Modifier: ViewModifier>: View {
  public init() {}
  public var body: Never { fatalError("no view") }
}

public struct ModifiedContent<Content, Modifier> {
  public var content: Content
  public var modifier: Modifier
  public init(content: Content, modifier: Modifier) {
    self.content = content
    self.modifier = modifier
  }
}

extension ModifiedContent: View where Content: View, Modifier: ViewModifier {
  public var body: Never { fatalError("no view") }
}

/// A view with a modifier. A test evaluates the body of the modifier, as SwiftUI would.
@MainActor public protocol ModifiedView {
  func evaluated(with states: ViewStates) -> any View
}

extension ModifiedContent: ModifiedView where Content: View, Modifier: ViewModifier {
  public func evaluated(with states: ViewStates) -> any View {
    ViewStates.$current.withValue(states) { modifier.body(content: _ViewModifier_Content()) }
  }
}

/// The states of one view, which SwiftUI keeps from one update to the next. A view of the tests has
/// one `State` of each type at most.
// Safe: views are evaluated on the main actor.
@safe public final class ViewStates: @unchecked Sendable {
  @TaskLocal static var current: ViewStates?
  private var values: [ObjectIdentifier: Any] = [:]

  public init() {}

  fileprivate func value<Value>(_ initial: Value) -> Value {
    if let value = values[ObjectIdentifier(Value.self)] as? Value { return value }
    values[ObjectIdentifier(Value.self)] = initial
    return initial
  }
}

/// A view with a task. A test starts the task, as SwiftUI would when the view appears.
public protocol ViewWithTask {
  var action: @Sendable () async -> Void { get }
  /// Returns whether SwiftUI would let the task of an earlier update run on.
  func continues(_ earlier: any ViewWithTask) -> Bool
}

public struct TaskView<Content: View, ID: Equatable>: ViewWithTask {
  public let content: Content
  public let id: ID
  public let action: @Sendable () async -> Void
  public func continues(_ earlier: any ViewWithTask) -> Bool { (earlier as? TaskView<Content, ID>)?.id == id }
}

// The conformance is in an extension, so that the type itself is not isolated. `ModifiedContent`
// has its conformance in an extension, too.
extension TaskView: View {
  public var body: Never { fatalError("no view") }
}

extension View {
  nonisolated public func modifier<Modifier>(_ modifier: Modifier) -> ModifiedContent<Self, Modifier> {
    ModifiedContent(content: self, modifier: modifier)
  }

  nonisolated public func task<ID: Equatable>(
    id: ID, priority: TaskPriority = .userInitiated,
    @_inheritActorContext _ action: @escaping @Sendable () async -> Void
  ) -> some View {
    TaskView(content: self, id: id, action: action)
  }
}

@propertyWrapper public struct State<Value> {
  private let initial: Value
  public init(wrappedValue: Value) { initial = wrappedValue }
  public var wrappedValue: Value {
    get { ViewStates.current?.value(initial) ?? initial }
    nonmutating set { fatalError("no view stores \(newValue)") }
  }
  public var projectedValue: Binding<Value> { fatalError("no view") }
}

extension State: Sendable where Value: Sendable {}

@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
  private let read: @Sendable () -> Value
  private let write: @Sendable (Value) -> Void
  @preconcurrency public init(
    get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
  ) {
    // SwiftUI calls these closures wherever it reads and writes, and ignores their isolation.
    read = unsafeBitCast(get, to: (@Sendable () -> Value).self)
    write = unsafeBitCast(set, to: (@Sendable (Value) -> Void).self)
  }
  public var wrappedValue: Value {
    get { read() }
    nonmutating set { write(newValue) }
  }
  public var projectedValue: Binding<Value> { self }
  public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
    fatalError("no view")
  }
}

// The declarations that the guide "With SwiftUI" uses.

public struct LocalizedStringKey: ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) {}
}

public struct Text: View {
  public init(_ key: LocalizedStringKey) {}
  public var body: Never { fatalError("no view") }
}

public struct Slider<Label: View, ValueLabel: View>: View {
  public var body: Never { fatalError("no view") }
}

public struct EmptyView: View {
  public init() {}
  public var body: Never { fatalError("no view") }
}

extension Slider where Label == EmptyView, ValueLabel == EmptyView {
  nonisolated public init<Value: BinaryFloatingPoint>(value: Binding<Value>, in bounds: ClosedRange<Value> = 0...1)
  where Value.Stride: BinaryFloatingPoint {}
}
