// swift-format-ignore-file
// The requirements of a protocol have the isolation of the module.
// error in: OnMain OnMainApproachable
// warning in: Swift5OnMainApproachable
import Eventing

#if MENDED
  nonisolated protocol Auditable: Sendable { var entry: String { get } }
#else
  protocol Auditable: Sendable { var entry: String { get } }
#endif

func audit(_ bus: EventBus) {
  bus.all(as: (any Auditable).self).addHandler { payload in print(payload.entry) }  // main actor-isolated property 'entry' can not be referenced from a Sendable closure
}
