// Call sites of three features: views of several observed values together, handlers of all events
// of a bus, and payloads in batches.
// swift-format-ignore-file

import Eventing

extension CallSites {
protocol Auditable: Sendable { var text: String { get } }

final class Person: Sendable {
  let first = Observed("Ada"), last = Observed("Lovelace"), born = Observed(1815)
}

final class Auditor: Sendable {
  let seen = Recorder<String>()
  func audit(_ entry: any Auditable) async { seen.record(entry.text) }
}

@MainActor static func combined(_ person: Person, _ auditor: Auditor) -> [HandlerToken] {
  let names = person.first.combineLatest(person.last)
  var name = ""
  var tokens = [
    person.first.combineLatest(person.last).addHandler { first, last in print(first, last) },
    names.addHandler(on: .main) { first, last in name = first + last; print(name) },
    names.addHandler { first, last in await Task.yield(); print(first, last) },
    names.addHandler(owner: auditor) { auditor, names in auditor.seen.record(names.0 + names.1) },
    names.map { first, last in "\(first) \(last)" }.removeDuplicates().addHandler { name in print(name) },
    names.filter { first, last in first != last }.addHandler(.named("filtered"), on: .background) { first, last in print(first, last) },
    names.removeDuplicates(by: ==).once { first, last in print(first, last) },
    person.first.combineLatest(person.last, person.born).addHandler { first, last, born in print(first, last, born) },
  ]
  tokens += names.add(Handler { first, last in print(first, last) }, Handler(on: .main) { names in print(names) })
  return tokens
}

static func everywhere(_ bus: EventBus, _ auditor: Auditor) -> [HandlerToken] {
  [
    bus.all(as: (any Auditable).self).addHandler { entry in await auditor.audit(entry) },
    bus.all(as: (any Auditable).self).addHandler { entry in print(entry.text) },
    bus.all(as: (any Auditable).self).addHandler(.named("main"), on: .main) { entry in print(entry.text) },
    bus.all(as: (any Auditable).self).addHandler(on: .main) { entry in await auditor.audit(entry) },
    bus.all(as: (any Auditable).self).addHandler(.once, on: .background) { entry in print(entry.text) },
    bus.all(as: (any Auditable).self).addHandler(owner: auditor) { auditor, entry in await auditor.audit(entry) },
    bus.all(as: Order.self).addHandler { order in print(order.id) },
  ]
}

static func inBatches(_ orders: Event<Order>) async -> [Int] {
  var counts: [Int] = []
  for await batch in orders.batches(of: 100).payloads(buffering: .newest(1_000)) { counts.append(batch.count); orders.finish() }
  return counts
}
}
