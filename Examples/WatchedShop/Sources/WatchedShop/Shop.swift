import Dispatch
import Eventing
import Foundation
import Synchronization

/// A shop that places orders all the time. Each fault, such as a handler that hangs, has a method
/// that begins it.
final class Shop: Sendable {
  let ordersPlaced = Event<Int>("orders placed")
  let payments = Event<Int>("payments")
  let stockChanged = Event<String>("stock changed")
  let logLines = Event<String>("log lines")
  let parcels = KeyedEvent<String, Int>("parcels")
  let price = Observed(10)
  let database = HandlerLane("database")

  /// The semaphore that "print the receipt" waits for; `nil` while that handler is not to hang.
  private let hanging = Mutex<DispatchSemaphore?>(nil)
  private let isFlooding = Atomic<Bool>(false)
  private let isSlow = Atomic<Bool>(false)

  init() {
    ordersPlaced.addHandler(.named("reserve stock")) { [stockChanged] order in
      stockChanged.post("article \(order % 7)")
    }
    ordersPlaced.addHandler(.named("charge the card"), on: .inOrder) { [payments] order in
      await payments.send(order)
    }
    ordersPlaced.addHandler(.named("statistics"), .buffering(.newest(100)), on: .background(.utility)) { [self] _ in
      if isSlow.load(ordering: .relaxed) { Thread.sleep(forTimeInterval: 0.02) }
    }
    payments.addHandler(.named("print the receipt"), on: .background) { [self] _ in
      hanging.withLock { $0 }?.wait()
    }
    payments.addHandler(.named("books"), on: .lane(database)) { _ in }
    stockChanged.addHandler(.named("warehouse"), on: .lane(database)) { _ in }
    stockChanged.forward(to: logLines)
    logLines.addHandler(.named("log file")) { _ in }
    parcels["north"].addHandler(.named("northern van")) { _ in }
    parcels["south"].addHandler(.named("southern van")) { _ in }
    price.addHandler(.named("label")) { _ in }
  }

  /// Places orders until the task is cancelled, a few hundred in each second.
  func trade() async {
    var number = 0
    while !Task.isCancelled {
      number += 1
      ordersPlaced.post(number)
      parcels.post(number, to: number % 2 == 0 ? "north" : "south")
      if number % 50 == 0 { price.update { $0 += 1 } }
      try? await Task.sleep(for: .milliseconds(3))
    }
  }

  /// Lets the handler "print the receipt" hang until `free()`.
  func stick() { hanging.withLock { if $0 == nil { $0 = DispatchSemaphore(value: 0) } } }

  /// Lets the call that hangs return.
  func free() {
    let hung = hanging.withLock { hanging in
      defer { hanging = nil }
      return hanging
    }
    hung?.signal()
  }

  /// Makes the handler "statistics" too slow for its buffer, so that it drops orders.
  func drop() { isSlow.store(true, ordering: .relaxed) }

  /// Posts log lines on four threads, faster than they are written.
  func flood() {
    guard !isFlooding.exchange(true, ordering: .relaxed) else { return }
    logLines.addHandler(.named("slow disk")) { _ in
      let end = ContinuousClock.now + .microseconds(100)
      while ContinuousClock.now < end {}
    }
    for _ in 0..<4 { Thread.detachNewThread { [logLines] in while true { logLines.post("again") } } }
  }

  /// Makes two handlers wait for each other: a deadlock, if `send` did not see it.
  func deferWait() {
    let (refunds, approvals) = (Event<Int>("refunds"), Event<Int>("approvals"))
    refunds.addHandler(.named("ask for approval"), on: .inOrder) { number in
      if number > 0 { await approvals.send(number) }
    }
    approvals.addHandler(.named("book the refund"), on: .inOrder) { _ in await refunds.send(0) }
    Task.detached {
      for number in 1... {
        await refunds.send(number)
        try? await Task.sleep(for: .milliseconds(200))
      }
    }
  }
}
