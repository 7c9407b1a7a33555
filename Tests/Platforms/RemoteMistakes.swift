// swift-format-ignore-file
// Likely mistakes with remote events, with the messages of the compiler: see Mistakes.swift.
import Eventing
import EventingTransport

struct Opaque {}

struct Connection: TransportConnection {
  let plain = InMemoryTransport()
}

func publish(_ placed: RemoteEvent<Int>, _ prices: RemoteKeyedEvent<String, Int>) async throws {
  placed.post(1)  // expected-error {{'post' is unavailable: a remote event is published, which may fail: try await event.publish(payload)}}
  await placed.send(1)  // expected-error {{'send' is unavailable: a remote event is published: try await event.publish(payload) returns when it is stored; it does not wait for handlers of other processes}}
  placed.submit(1)  // expected-error {{'submit' is unavailable: a remote event is published}}
  prices.post(1, to: "a")  // expected-error {{'post(_:to:)' is unavailable: a remote event is published, which may fail: try await event.publish(payload, to: key)}}
  await prices.send(1, to: "a")  // expected-error {{'send(_:to:)' is unavailable: a remote event is published: try await event.publish(payload, to: key) returns when it is stored}}
  try await prices.publish(1)  // expected-error {{'publish' is unavailable: say the key: try await event.publish(payload, to: key)}}
}

func connect(_ nats: Connection) {
  _ = RemoteEvent<Int>("a", over: nats)  // expected-error {{'init(_:over:)' is unavailable: over: takes what can be published on: a stream of the connection, or its 'plain'}}
  _ = RemoteEvent<Int>("a", over: nats, codec: .json)  // expected-error {{'init(_:over:codec:)' is unavailable: over: takes what can be published on}}
  _ = RemoteKeyedEvent<String, Int>("a", over: nats)  // expected-error {{'init(_:over:)' is unavailable: over: takes what can be published on}}
  _ = RemoteKeyedEvent<String, Int>("a", over: nats, codec: .json)  // expected-error {{'init(_:over:codec:)' is unavailable: over: takes what can be published on}}
  _ = RemoteQuestion<Int, Int>("a", over: nats)  // expected-error {{'init(_:over:)' is unavailable: over: takes what can be asked on: a stream of the connection, or its 'plain'}}
}

func encode(_ bus: InMemoryTransport) {
  _ = RemoteEvent<Opaque>("a", over: bus)  // expected-error {{'init(_:over:)' is unavailable: a payload that is not Codable needs a codec: RemoteEvent(_, over:, codec:)}}
  _ = RemoteEvent<Opaque>("a", over: bus, codec: .json)  // expected-error {{'json' is unavailable: JSON needs a Codable payload; give a codec of your own: Codec(encode:decode:)}}
  _ = RemoteKeyedEvent<String, Opaque>("a", over: bus)  // expected-error {{'init(_:over:)' is unavailable: a payload that is not Codable needs a codec: RemoteKeyedEvent(_, over:, codec:)}}
  _ = RemoteKeyedEvent<String, Opaque>("a", over: bus, codec: .json)  // expected-error {{'json' is unavailable: JSON needs a Codable payload}}
  _ = RemoteQuestion<Opaque, Int>("a", over: bus)  // expected-error {{'init(_:over:)' is unavailable: queries and answers that are not Codable need codecs: RemoteQuestion(_, over:, codec:, answerCodec:)}}
}
