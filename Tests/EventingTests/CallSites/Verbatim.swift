// Call sites exactly as in the documentation.
// swift-format-ignore-file

import Dispatch
import Eventing
import Foundation

extension CallSites {
final class Downloader: Sendable {
  let progress = Event<Double>()                       // an instance event
  static let finished = Event<URL>("finished")         // a class event, with a name
  let cancelled = Signal()                             // Signal = Event<Void>
  let resized = Event<(Int, Int)>()                    // several values
  private let failure = Event<Problem>()
  var failed: some EventSource<Problem> { failure.source }   // cannot post; can be stored as any EventSource<Problem>
}

static func verbatim(
  d: Downloader, view: ProgressView, controller: Controller, myQueue: DispatchQueue, store: Store, account: Account, handlers: HandlerBag,
  orderPlaced: Event<Order>
) async throws -> (report: SendReport, later: SendReport, locked: Bool?, snapshots: Int) {
  // Add. No await is needed, in any context. When addHandler returns, the handler is active.
  let bar = d.progress.addHandler { fraction in print(fraction) }                         // inline
  d.progress.addHandler(on: .main) { fraction in view.fraction = fraction }               // @MainActor closure
  d.progress.addHandler(.named("disk"), on: .background(.utility)) { fraction in print(fraction) }
  d.progress.addHandler(.priority(10), on: .queue(myQueue)) { fraction in print(fraction) }
  d.progress.addHandler { fraction in try await store.save(fraction) }                    // async, in order
  d.progress.addHandler(on: .concurrent(limit: 4)) { fraction in try await store.save(fraction) }   // async, overlapping
  d.progress.addHandler(owner: controller) { controller, fraction in controller.update(fraction) }  // ends with its owner
  d.progress.addHandler(owner: controller) { $0.update($1) }                                // method reference
  d.progress.addHandler(isolatedTo: account) { account, fraction in account.n += fraction }   // runs on that actor
  d.progress.occurrences.addHandler { o in log(o.sender, o.eventName, o.sequence, o.payload) }
  d.progress.once { fraction in print(fraction) }                                         // or addHandler(.once)
  d.resized.addHandler { width, height in print(width, height) }
  d.cancelled.addHandler { print("cancelled") }

  // Send.
  d.progress.post(0.5)                       // never waits; from any thread
  d.cancelled.post(); d.resized.post((3, 4))
  d.progress.post(0.5, from: d)              // with its sender
  let report = await d.progress.send(0.5)    // every handler it reached has finished
  let ticket = d.progress.submit(0.5)        // sends now; the report is awaited later
  let later = await ticket.report

  // Look.
  var snapshots = 0
  for h in await d.progress.handlers() { print(h); snapshots += 1 }   // snapshots: id, name, delivery, isLocked, isOnce, owner alive, counts

  // Change.
  d.progress.lock(bar);  d.progress.unlock(bar);  let locked = d.progress.isLocked(bar)   // false after bar is removed
  d.progress.lockAll(where: .named("disk"));  d.progress.lockAll();  d.progress.lock()   // by name, all handlers now, the event
  await d.progress.withLocked(bar) { print("silent") }
  d.progress.remove(bar);  d.progress.removeAll(where: .named("disk"));  d.progress.removeAll(where: .ownedBy(controller));  d.progress.removeAll()
  await d.progress.quiesce()                 // nothing sent before this is still running

  // Lifetimes other than "until removed".
  bar.store(in: handlers)                    // a HandlerBag removes its handlers when it is released
  try await d.progress.withHandler(Handler { fraction in print(fraction) }) { try await work() }

  // `Handler` values can be stored and shared. They can be added as a group: each occurrence
  // reaches all handlers of the group, or none.
  let audit = Handler<Order>(.named("audit"), .tagged("io"), on: .background(.utility)) { order in print(order) }
  orderPlaced.add(audit, Handler(.once) { order in print(order) })
  return (report, later, locked, snapshots)
}
}
