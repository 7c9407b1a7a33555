// swift-format-ignore-file
// Likely mistakes. Each mistake is one line, however long, which ends with the messages that
// `check` expects of the compiler. Nothing here runs.
import Dispatch
import Eventing

struct Order: Sendable { var id = 0 }
final class Cell { var x = 0 }  // expected-note 2 {{class 'Cell' does not conform to the 'Sendable' protocol}}
final class Ledger: Sendable { func book(_ order: Order) {} }
@MainActor final class Window: Sendable {
  var title = ""  // expected-note {{mutation of this property is only permitted within the actor}}
  func show(_ order: Order) {}  // expected-note {{calls to instance method 'show' from outside of its actor context are implicitly asynchronous}}
}
actor Store { func append(_ id: Int) {} }  // expected-note {{calls to instance method 'append' from outside of its actor context are implicitly asynchronous}}
func book(_ order: Order) {}
func bill(_ order: Order) async throws {}
@MainActor func present(_ order: Order) {}

func sending(_ orders: Event<Order>, _ rooms: KeyedEvent<String, String>) async {
  orders.send(Order())  // expected-error {{expression is 'async' but is not marked with 'await'}} expected-note {{call is 'async'}}
  orders.post("tea")  // expected-error {{cannot convert value of type 'String' to expected argument type 'Order'}}
  orders.post()  // expected-error {{referencing instance method 'post(from:)' on 'Event' requires the types 'Order' and '()' be equivalent}}
  rooms.post("hello")  // expected-error {{missing argument for parameter 'to' in call}}
  orders.source.post(Order())  // expected-error {{value of type 'some EventSource<Order>' has no member 'post'}}
}

func closures(_ orders: Event<Order>, _ window: Window) {
  orders.addHandler { a, b in print(a) }  // expected-error {{contextual closure type '@Sendable (Order) throws -> Void' expects 1 argument, but 2 were used in closure body}}
  orders.addHandler { print("x") }  // expected-error {{contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored}}
  orders.addHandler { order in print(order.idd) }  // expected-error {{value of type 'Order' has no member 'idd'}}
  orders.addHandler(on: .main) { order in window.shew(order) }  // expected-error {{value of type 'Window' has no member 'shew'}}
  orders.add(Handler { order in book(order) }, Handler { order in print(order.nope) })  // expected-error {{value of type 'Order' has no member 'nope'}}
  for await order in orders { print(order) }  // expected-error {{for-in loop requires 'Event<Order>' to conform to 'AsyncSequence'}}
}

func isolation(_ orders: Event<Order>, _ window: Window, _ titles: Event<String>, _ store: Store) {
  var n = 0
  let cell = Cell()
  orders.addHandler { order in window.show(order) }  // expected-error {{call to main actor-isolated instance method 'show' in a synchronous nonisolated context}}
  titles.addHandler { title in window.title = title }  // expected-error {{main actor-isolated property 'title' can not be mutated from a Sendable closure}}
  orders.addHandler { order in n += order.id }  // expected-error {{mutation of captured var 'n' in concurrently-executing code}}
  orders.addHandler { order in cell.x += 1 }  // expected-error {{capture of 'cell' with non-Sendable type 'Cell' in a '@Sendable' closure}}
  orders.addHandler(owner: store) { store, order in store.append(order.id) }  // expected-error {{call to actor-isolated instance method 'append' in a synchronous nonisolated context}}
}

func places(_ orders: Event<Order>, _ queue: DispatchQueue) {
  orders.addHandler(on: .queue(queue)) { order in try await bill(order) }  // expected-error {{'queue' is unavailable: a dispatch queue runs closures that do not await: leave 'on:' out, or say '.inOrder(priority:)'}}
  orders.addHandler(on: .background) { order in try await bill(order) }  // expected-error {{'background' is unavailable: a closure that awaits blocks no thread: leave 'on:' out, or say '.inOrder(priority: .utility)'}}
  orders.addHandler(on: .inline) { order in try await bill(order) }  // expected-error {{cannot pass function of type '@concurrent @Sendable (Order) async throws -> ()' to parameter expecting synchronous function type}} expected-note {{'async' inferred from asynchronous operation used here}}
  orders.addHandler(on: .mian) { order in book(order) }  // expected-error {{type 'SyncDelivery' has no member 'mian'}}
}

func owners(_ orders: Event<Order>, _ cell: Cell, _ ledger: Ledger) {
  orders.addHandler(owner: cell) { cell, order in cell.x += 1 }  // expected-error {{type 'Cell' does not conform to the 'Sendable' protocol}}
  orders.addHandler(owner: ledger, on: .background) { ledger, order in ledger.book(order) }  // expected-error {{argument 'on' must precede argument 'owner'}}
}

func options(_ orders: Event<Order>) {
  orders.addHandler("mail") { order in book(order) }  // expected-error {{cannot convert value of type 'String' to expected argument type 'HandlerOption<Order>'}}
  orders.addHandler(.nmaed("mail")) { order in book(order) }  // expected-error {{type 'HandlerOption<Order>' has no member 'nmaed'}}
  orders.addHandler(on: .main, .named("mail")) { order in present(order) }  // expected-error {{unnamed argument #2 must precede argument 'on'}}
  orders.addHandler(.debounced(for: 300)) { order in book(order) }  // expected-error {{cannot convert value of type 'Int' to expected argument type 'Duration'}}
}

func verbs(_ orders: Event<Order>, _ token: HandlerToken) async {
  orders.lock("mail")  // expected-error {{cannot convert value of type 'String' to expected argument type 'HandlerToken'}}
  orders.removeAll(where: { $0.name == "mail" })  // expected-error {{closure passed to parameter of type 'HandlerFilter' that does not accept a closure}}
  orders.removeAll(where: .named("mail") && .taggd("io"))  // expected-error {{type 'HandlerFilter' has no member 'taggd'}}
  orders.lockAll(.named("mail"))  // expected-error {{missing argument label 'where:' in call}}
  orders.source.lock(token)  // expected-error {{value of type 'some EventSource<Order>' has no member 'lock'}}
}

func habits(_ orders: Event<Order>, _ search: Event<String>, _ tokens: inout Set<HandlerToken>) async {
  orders.sink { order in print(order) }  // expected-error {{value of type 'Event<Order>' has no member 'sink'}}
  search.debounce(for: .milliseconds(300)).addHandler { text in print(text) }  // expected-error {{'debounce(for:)' is unavailable: a pace belongs to the handler: addHandler(.debounced(for: .milliseconds(300))) { payload in … }}}
  search.throttle(for: .seconds(1)).addHandler { text in print(text) }  // expected-error {{'throttle(for:)' is unavailable: a pace belongs to the handler: addHandler(.throttled(every: .milliseconds(100))) { payload in … }}}
  orders.addHandler { _ in }.cancel()  // expected-error {{'cancel()' is unavailable: a token has no cancel: token.remove()}}
  orders.addHandler { _ in }.store(in: &tokens)  // expected-error {{cannot convert value of type 'Set<HandlerToken>' to expected argument type 'HandlerBag'}}
}
