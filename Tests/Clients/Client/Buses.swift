import Eventing

nonisolated protocol Auditable: Sendable { var entry: String { get } }

nonisolated struct Payment: Auditable { var entry: String }

func buses() async {
  let bus = EventBus()
  bus.all(as: (any Auditable).self).addHandler { entry in Log.shared.write(entry.entry) }
  bus.event(for: Payment.self).addHandler { payment in Log.shared.write("paid \(payment.entry)") }
  await bus.send(Payment(entry: "rent"))
  expect(Log.shared.take().sorted(), ["paid rent", "rent"])
}
