import Eventing
import Foundation
import Synchronization

/// Races a sender with the cancellation of a consumer, first with an event, for 20,000 rounds, and
/// then with the broadcaster, until both threads stand still.
@main struct Race {
  static let rounds = Atomic<Int>(0)

  static func main() async {
    for _ in 0..<20_000 {
      let numbers = Event<Int>()
      await race({ for await _ in numbers.payloads() {} }, { number in numbers.post(number) })
    }
    print("event: \(rounds.load(ordering: .relaxed)) rounds")

    rounds.store(0, ordering: .relaxed)
    let watch = Thread { watchBroadcaster() }
    watch.start()
    for _ in 0..<1_000_000 {
      let numbers = Broadcaster<Int>()
      await race({ for await _ in numbers.values() {} }, { number in numbers.send(number) })
    }
    print("broadcaster: no deadlock")
    exit(1)
  }

  /// One round: a consumer, a sender of 20 numbers, and the cancellation of the consumer.
  static func race(_ consume: @escaping @Sendable () async -> Void, _ send: @escaping @Sendable (Int) -> Void) async {
    let (begun, begin) = AsyncStream<Void>.makeStream()
    let consumer = Task.detached {
      begin.finish()
      await consume()
    }
    for await _ in begun {}
    let sender = Task.detached { for number in 0..<20 { send(number) } }
    consumer.cancel()
    await sender.value
    await consumer.value
    rounds.add(1, ordering: .relaxed)
  }

  /// Ends the program when no round has ended for two seconds.
  static func watchBroadcaster() {
    var last = -1
    while true {
      Thread.sleep(forTimeInterval: 2)
      let now = rounds.load(ordering: .relaxed)
      if now == last {
        print("broadcaster: both threads stand still in round \(now + 1)")
        exit(0)
      }
      last = now
    }
  }
}
