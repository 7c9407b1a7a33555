// The types, functions and constants that the calls use.
public import Dispatch
public import Eventing
public import Foundation

public struct Order: Codable, Hashable, Sendable {
  public var id: Int
  public var total: Double
  public var customer: String?
  public var name = ""
  public init(id: Int, total: Double = 1, customer: String? = nil) {
    self.id = id
    self.total = total
    self.customer = customer
  }
  public init?(_ notification: Any) { return nil }
}
public struct Payment: Sendable { public var order: Int; public init(order: Int) { self.order = order } }
public struct User: Sendable { public var name: String; public init(name: String) { self.name = name } }
public struct Touch: Sendable { public init() {} }
public protocol Auditable: Sendable {}
public struct Problem: Error, Equatable { public init() {} }

public final class Ledger: Sendable {
  public init() {}
  public func book(_ order: Order) {}
  public func enter(_ order: Order, account: String, page: Int) {}
}
public final class Chart: Sendable {
  public init() {}
  public func move(from: Int, to: Int) {}
}
public final class Shop: Sendable {
  public let placed = Event<Order>("placed")
  public let orderPlaced = Event<Order>("orderPlaced")
  public var orders: some EventSource<Order> { placed.source }
  public static let opened = Signal("opened")
  public static let launched = Signal("launched")
  public init() {}
}
public final class View: Sendable { public init() {} }
public final class Player: @unchecked Sendable {
  @Observed public var volume = 0.5
  public init() {}
}
@MainActor public final class Slider {
  public var volume = 0.5
  public init() {}
}
@MainActor public final class Window {
  public var fraction = 0.0
  public var title = ""
  public init() {}
  public func show(_ order: Order) {}
}
@MainActor public final class Model {
  public var query = ""
  public var results: [String] = []
  public var items: [Int] = []
  public init() {}
  public func find(_ text: String) async throws {}
}
public actor Store {
  public var orders: [Int] = []
  public init() {}
  public func append(_ id: Int) { orders.append(id) }
  public func book(_ order: Order) {}
}
public actor Counter {
  public var total = 0.0
  public init() {}
  public func count(_ user: User) {}
  public func add(_ number: Double) { total += number }
}

public let (shop, ledger, chart, player, store, counter) = (Shop(), Ledger(), Chart(), Player(), Store(), Counter())
public let (view, other) = (View(), View())
public let (slider, window, model) = MainActor.assumeIsolated { (Slider(), Window(), Model()) }
public let order = Order(id: 1)
public let user = User(name: "Ada")
public let touch = Touch()
public let bus = EventBus()
public let queue = DispatchQueue(label: "mine")
public let mine = DispatchQueue(label: "mine")
public let database = HandlerLane("database")
public enum RequestID { @TaskLocal public static var current = 0 }

public func note(_ things: Any?...) {}
public func book(_ order: Order) {}
public func mail(_ order: Order) {}
public func draw(_ from: Int, _ to: Int) {}
public func greet(_ user: User) {}
public func show(_ things: Any?...) {}
public func write(_ order: Order) {}
@Sendable public func count(_ order: Order) {}
@MainActor public func present(_ order: Order) {}
public func save(_ order: Order) async throws {}
public func saveAll(_ orders: [Order]) async throws {}
public func bill(_ order: Order) async throws {}
public func check(_ order: Order) throws {}
public func insert(_ orders: [Order]) async throws {}
public func find(_ text: String) async throws -> [String] { [] }
public func store(_ payload: Order, _ failure: HandlerFailure) async throws {}
public func work() async throws {}
public func audit(_ thing: any Auditable) async {}
public func log(_ things: Any?...) {}

extension EventKey where Payload == Order { public static var orderPlaced: EventKey { EventKey("orderPlaced") } }
extension EventKey where Payload == User { public static var didLogin: EventKey { EventKey("didLogin") } }
extension Notification.Name {
  public static let orderSaved = Notification.Name("orderSaved")
  public static let orderPlaced = Notification.Name("orderPlaced")
  public static let orderShown = Notification.Name("orderShown")
  public static let shown = Notification.Name("shown")
  public static let login = Notification.Name("login")
}
