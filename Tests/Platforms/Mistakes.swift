// swift-format-ignore-file
// Likely mistakes. Each mistake is one line, however long, which ends with the messages that
// `check` expects of the compiler. Nothing here runs.
import Eventing

final class Model: Sendable {
  @MainActor var text = ""
}

struct Queue {}

func combine(_ event: Event<String>, _ model: Model) {
  var tokens: Set<HandlerToken> = []
  event.sink { text in print(text) }.store(in: &tokens)  // expected-error {{'sink(receiveValue:)' is unavailable: add a handler: addHandler { payload in … }}} expected-error {{'store(in:)' is unavailable: keep a HandlerBag: token.store(in: bag)}}
  event.sink(receiveCompletion: { _ in }, receiveValue: { _ in })  // expected-error {{'sink(receiveCompletion:receiveValue:)' is unavailable: add a handler}}
  event.receive(on: Queue()).addHandler { _ in }  // expected-error {{'receive(on:)' is unavailable: a handler says where it runs: addHandler(on: .main) { … }, or .background, .queue(queue)}}
  event.map { $0.count }.debounce(for: .milliseconds(300), scheduler: Queue()).addHandler { _ in }  // expected-error {{'debounce(for:scheduler:)' is unavailable: a handler has a pace}}
  event.throttle(for: .seconds(1), scheduler: Queue(), latest: true).addHandler { _ in }  // expected-error {{'throttle(for:scheduler:latest:)' is unavailable: a handler has a pace}}
  _ = event.filter { !$0.isEmpty }.eraseToAnyPublisher()  // expected-error {{'eraseToAnyPublisher()' is unavailable: an event needs no erasing}}
  event.share().addHandler { _ in }  // expected-error {{'share()' is unavailable: leave it out}}
  event.flatMap { $0.count }.addHandler { _ in }  // expected-error {{'flatMap' is unavailable: do the work in an asynchronous handler}}
  event.merge(with: event).addHandler { _ in }  // expected-error {{'merge(with:)' is unavailable: forward both to one event}}
  _ = event.zip(event)  // expected-error {{'zip' is unavailable: use swift-async-algorithms}}
  _ = event.prefix(3)  // expected-error {{'prefix' is unavailable: use a loop}}
  event.collect(10).addHandler { _ in }  // expected-error {{'collect' is unavailable: a handler takes batches}}
  event.retry(3).addHandler { _ in }  // expected-error {{'retry' is unavailable: a handler is retried}}
  event.catch { _ in "" }.addHandler { _ in }  // expected-error {{'catch' is unavailable: errors of handlers are payloads}}
  event.delay(for: .seconds(1), scheduler: Queue()).addHandler { _ in }  // expected-error {{'delay(for:scheduler:)' is unavailable: post later}}
  event.map { $0.count }.switchToLatest().addHandler { _ in }  // expected-error {{'switchToLatest()' is unavailable: do the work in a handler}}
  event.handleEvents(receiveOutput: { _ in }).addHandler { _ in }  // expected-error {{'handleEvents(receiveOutput:)' is unavailable: add a handler with a higher priority}}
  Observed(0).send(1)  // expected-error {{'send' is unavailable: set the value: observed.value = new}}
  event.scan(0) { $0 + $1.count }.addHandler { _ in }  // expected-error {{'scan' is unavailable: keep the result in an Observed}}
}

func reactive(_ event: Event<String>, _ other: Observed<Int>, _ bag: HandlerBag) {
  event.subscribe(onNext: { text in print(text) }).disposed(by: bag)  // expected-error {{'subscribe(onNext:)' is unavailable: add a handler}} expected-error {{'disposed(by:)' has been renamed to 'store(in:)'}}
  event.bind { text in print(text) }.dispose()  // expected-error {{'bind(onNext:)' is unavailable: add a handler}} expected-error {{'dispose()' is unavailable: a handler is removed: token.remove()}}
  event.observe(on: Queue()).addHandler { _ in }  // expected-error {{'observe(on:)' is unavailable: a handler says where it runs}}
  _ = event.withLatestFrom(other)  // expected-error {{'withLatestFrom' is unavailable: read it in the handler}}
  event.onNext("a")  // expected-error {{'onNext' has been renamed to 'post(_:)'}}
  event.accept("a")  // expected-error {{'accept' has been renamed to 'post(_:)'}}
  event.onCompleted()  // expected-error {{'onCompleted()' has been renamed to 'finish()'}}
}

func own(_ event: Event<String>, _ keyed: KeyedEvent<Int, String>) {
  event.addHandler("name") { _ in }  // expected-error {{'addHandler(_:on:priority:_:)' is unavailable: label the name}}
  keyed.post("a")  // expected-error {{'post' is unavailable: say the key}}
  event.addHandler(on: .inline) { _ in await Task.yield() }  // expected-error {{'inline' is unavailable: an inline handler cannot wait}}
  event.lock("name")  // expected-error {{cannot convert value of type 'String' to expected argument type 'HandlerToken'}}
}

func modify(_ event: Event<String>) {
  event.addHandler { (_: String) async in }.retrying(.immediately(attempts: 3))  // expected-error {{'retrying(_:if:)' is unavailable: modify the handler before it is added: event.add(Handler { … }.retrying(policy))}}
  event.addHandler { (_: String) async in }.retrying(.immediately(attempts: 3)) { _ in false }  // expected-error {{'retrying(_:if:)' is unavailable: modify the handler before it is added}}
  event.addHandler { (_: String) async in }.timingOut(after: .seconds(5))  // expected-error {{'timingOut(after:)' is unavailable: modify the handler before it is added: event.add(Handler { … }.timingOut(after: .seconds(5)))}}
  event.addHandler { (_: String) async in }.restarting()  // expected-error {{'restarting()' is unavailable: say it when the handler is added: event.addHandler(on: .restarting) { … }}}
  event.addHandler(on: .concurrent(limit: 8)) { _ in }.inOrder(by: \.count)  // expected-error {{'inOrder(by:)' is unavailable: modify the handler: event.add(Handler(on: .concurrent(limit: 8)) { … }.inOrder(by: key))}}
  event.addHandler(on: .concurrent(limit: 8)) { _ in }.inOrder(by: \String.count)  // expected-error {{'inOrder(by:)' is unavailable: modify the handler}}
  event.addHandler(on: .concurrent(limit: 8)) { _ in }.inOrder { $0.count }  // expected-error {{'inOrder(by:)' is unavailable: modify the handler}}
  event.addHandler { text in print(text) }.debounced(for: .seconds(1))  // expected-error {{'debounced(for:)' is unavailable: modify the handler before it is added: event.add(Handler { … }.debounced(for: .milliseconds(300)))}}
  event.addHandler { text in print(text) }.throttled(every: .seconds(1))  // expected-error {{'throttled(every:)' is unavailable: modify the handler before it is added: event.add(Handler { … }.throttled(every: .milliseconds(100)))}}
  event.addHandler { text in print(text) }.deadLetters.addHandler { _ in }  // expected-error {{'deadLetters' is unavailable: an event has dead letters: event.deadLetters.addHandler { letter in … }}}
  event.debounced(for: .seconds(1)).addHandler { text in print(text) }  // expected-error {{'debounced(for:)' is unavailable: a handler has a pace: event.add(Handler { … }.debounced(for: .milliseconds(300)))}}
  event.throttled(every: .seconds(1)).addHandler { text in print(text) }  // expected-error {{'throttled(every:)' is unavailable: a handler has a pace: event.add(Handler { … }.throttled(every: .milliseconds(100)))}}
  event.debounce(for: .seconds(1)).addHandler { text in print(text) }  // expected-error {{'debounce(for:)' is unavailable: a handler has a pace}}
  event.filter { !$0.isEmpty }.throttle(for: .seconds(1)).addHandler { text in print(text) }  // expected-error {{'throttle(for:)' is unavailable: a handler has a pace}}
}
