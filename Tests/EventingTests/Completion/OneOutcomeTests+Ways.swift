import EventingTesting
import Testing

@testable import Eventing

extension OneOutcomeTests {
  /// A way in which calls of a handler may end or not begin.
  struct Way: Sendable, CustomTestStringConvertible {
    let name: String
    /// All that is said of each occurrence, in order. The report says the last word of the first
    /// call, or `held`.
    let words: [[Outcome]]
    let handler: @Sendable (World) -> Handler<Int>
    let drive: @Sendable (World, HandlerToken) async -> Void
    /// Whether the handler's calls wait until `drive` runs the jobs of the world's executor.
    var isStepped = false
    var testDescription: String { name }

    init(
      _ name: String, _ words: [[Outcome]], _ handler: @escaping @Sendable (World) -> Handler<Int>,
      _ drive: @escaping @Sendable (World, HandlerToken) async -> Void
    ) {
      (self.name, self.words, self.handler, self.drive) = (name, words, handler, drive)
    }

    var stepped: Way {
      var way = self
      way.isStepped = true
      return way
    }
  }

  fileprivate static let places: [(String, AsyncDelivery)] = [
    ("in order", .inOrder), ("concurrent", .concurrent(limit: 2)), ("task", .task), ("lane", .lane(HandlerLane("l"))),
  ]
  fileprivate static let serial: [(String, HandlerOption<Int>, @Sendable () -> AsyncDelivery)] = [
    ("in order", .options(), { .inOrder }), ("one at a time", .options(), { .concurrent(limit: 1) }),
    ("lane", .options(), { .lane(HandlerLane("l")) }),
    ("bounded lane", .buffering(.newest(9)), { .lane(HandlerLane("w", limit: 1)) }),
  ]
  fileprivate static let twice = RetryPolicy.exponential(from: .seconds(1), to: .seconds(1), attempts: 2, jitter: false)

  static let ways: [Way] =
    places.flatMap { name, place -> [Way] in
      [
        Way("returns, \(name)", [[.delivered]], { w in Handler(on: place) { await w.call($0 + 1) } }) { w, _ in
          w.submit(1)
        },
        Way("throws, \(name)", [[.failed]], { _ in Handler(on: place) { (_: Int) async throws in throw Problem() } }) {
          w, _ in w.submit(1)
        },
        Way(
          "time limit obeyed, \(name)", [[.failed]],
          { w in Handler(.timingOut(after: .seconds(1), clock: w.clock), on: place) { await w.call($0) } }
        ) { w, _ in
          w.submit(1)
          await w.begins()
          await w.passes()
        },
        Way(
          "time limit ignored, \(name)", [[.failed]],
          { w in
            Handler(.timingOut(after: .seconds(1), clock: w.clock), on: place) { await w.callUncancelled($0) }
          }
        ) { w, _ in
          w.submit(1)
          await w.begins()
          await w.passes()
          #expect(await eventually { w.clock.sleeperCount == 0 })
          w.gate.open()
        },
        Way(
          "retried, \(name)", [[.failed, .delivered]],
          { w in
            Handler(.retrying(twice, clock: w.clock), on: place) { (_: Int) async throws in
              if w.attempts.add() == 1 { throw Problem() }
            }
          }
        ) { w, _ in
          w.submit(1)
          await w.passes()
        },
        Way(
          "retried in vain, \(name)", [[.failed, .failed]],
          { w in
            Handler(.retrying(twice, clock: w.clock), on: place) { (_: Int) async throws in throw Problem() }
          }
        ) { w, _ in
          w.submit(1)
          await w.passes()
        },
      ]
    }
    + serial.flatMap { name, bound, place -> [Way] in
      [
        Way(
          "removed meanwhile, \(name)", [[.delivered], [.skipped]],
          { w in Handler(bound, on: place()) { await w.call($0) } }
        ) { w, token in
          w.submit(2)
          await w.begins()
          w.event.remove(token)
          w.gate.open()
        },
        Way(
          "used up meanwhile, \(name)", [[.delivered], [.skipped]],
          { w in
            Handler(.once, bound, on: place()) { await w.call($0) }
          }
        ) { w, _ in
          // The first call uses the handler up, so both payloads are sent before it begins.
          w.submit(2)
          w.gate.open()
          await w.steps.runUntilQuiet(w.event)
        }.stepped,
        Way(
          "locked meanwhile, \(name)", [[.delivered], [.skipped]],
          { w in Handler(bound, on: place()) { await w.call($0) } }
        ) { w, token in
          w.submit(2)
          await w.begins()
          w.event.lock(token)
          w.gate.open()
          _ = await w.reports
        },
        Way(
          "held meanwhile, \(name)", [[.delivered], [.held, .delivered]],
          { w in Handler(bound, on: place()) { await w.call($0) } }
        ) { w, token in
          w.submit(2)
          await w.begins()
          w.event.lock(token, holding: .latest)
          w.gate.open()
          _ = await w.reports
          w.event.unlock(token)
        },
      ]
    } + [
      Way(
        "bounded, oldest", [[.delivered], [.delivered], [.dropped]],
        { w in
          Handler(.buffering(.oldest(1)), on: .inOrder) { await w.call($0) }
        }
      ) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(2)
        w.gate.open()
      },
      Way(
        "bounded, newest", [[.delivered], [.dropped], [.delivered]],
        { w in
          Handler(.buffering(.newest(1)), on: .inOrder) { await w.call($0) }
        }
      ) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(2)
        w.gate.open()
      },
      Way(
        "held, the older replaced", [[.held, .skipped], [.held, .delivered]],
        { w in
          Handler { (payload: Int) in w.begun.record(payload) }
        }
      ) { w, token in
        w.event.lock(token, holding: .latest)
        w.submit(2)
        w.event.unlock(token)
      },
      Way(
        "held, no room", [[.held, .delivered], [.skipped]],
        { w in
          Handler { (payload: Int) in w.begun.record(payload) }
        }
      ) { w, token in
        w.event.lock(token, holding: .oldest(1))
        w.submit(2)
        w.event.unlock(token)
      },
      Way("batch", [[.delivered], [.delivered]], { w in Handler { _ in }.batched(of: 2, within: .seconds(1)) }) {
        w, _ in w.submit(2)
      },
      Way(
        "batch that throws", [[.failed], [.failed]],
        { w in
          Handler { _ async throws in throw Problem() }.batched(of: 2, within: .seconds(1))
        }
      ) { w, _ in w.submit(2) },
      Way(
        "batch, removed meanwhile", [[.skipped], [.skipped]],
        { w in
          Handler { _ in }.batched(of: 3, within: .seconds(1), clock: w.clock)
        }
      ) { w, token in
        w.submit(2)
        w.event.remove(token)
      },
      Way(
        "throttled", [[.delivered], [.dropped], [.delivered]],
        { w in
          Handler(.throttled(every: .seconds(1), clock: w.clock), on: .inOrder) { await w.call($0 + 1) }
        }
      ) { w, _ in
        w.submit(3)
        await w.passes()
      },
      Way(
        "throttled, inline", [[.delivered], [.dropped], [.delivered]],
        { w in
          Handler(.throttled(every: .seconds(1), clock: w.clock)) { (payload: Int) in w.begun.record(payload) }
        }
      ) { w, _ in
        w.submit(3)
        await w.passes()
      },
      Way(
        "debounced", [[.dropped], [.dropped], [.delivered]],
        { w in
          Handler(.debounced(for: .seconds(1), clock: w.clock), on: .inOrder) { await w.call($0 + 1) }
        }
      ) { w, _ in
        w.submit(3)
        await w.passes()
      },
      Way(
        "debounced, removed meanwhile", [[.skipped]],
        { w in
          Handler(.debounced(for: .seconds(1), clock: w.clock), on: .inOrder) { await w.call($0 + 1) }
        }
      ) { w, token in
        w.submit(1)
        w.event.remove(token)
      },
      Way(
        "restarting, cancelled, throws", [[.dropped], [.delivered]],
        { w in
          Handler(.cancellingPrevious) { (payload: Int) async throws in
            await w.call(payload)
            try Task.checkCancellation()
          }
        }
      ) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(1)
      },
      Way(
        "restarting, cancelled, returns", [[.dropped], [.delivered]],
        { w in
          Handler(.cancellingPrevious, on: .inOrder) { await w.call($0) }
        }
      ) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(1)
      },
      Way(
        "restarting, replaced while it waits", [[.dropped], [.dropped], [.delivered]],
        { w in
          Handler(.cancellingPrevious) { await w.callUncancelled($0) }
        }
      ) { w, _ in
        w.submit(1)
        await w.begins()
        w.submit(2)
        w.gate.open()
      },
      Way(
        "restarting, replaced between two attempts", [[.failed, .dropped], [.delivered]],
        { w in
          Handler(.cancellingPrevious, .retrying(twice, clock: w.clock), on: .inOrder) { (payload: Int) async throws in
            if payload == 1 { throw Problem() }
          }
        }
      ) { w, _ in
        w.submit(1)
        #expect(await eventually { w.clock.sleeperCount == 1 })
        w.submit(1)
      },
    ]
}
