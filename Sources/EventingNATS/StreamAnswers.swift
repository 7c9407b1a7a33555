#if NATS
  import Foundation

  /// An answer of the server's JetStream interface. Unknown fields are ignored.
  struct StreamAnswer: Decodable {
    struct Failure: Decodable {
      var code = 0
      var number: Int?
      var description: String?

      enum CodingKeys: String, CodingKey {
        case code
        case number = "err_code"
        case description
      }
    }

    struct Config: Decodable {
      var subjects: [String]?
      var maxAge: Int64?
      var replicas: Int?
      /// Whether the stream does not answer what is published to it.
      var hasNoReceipts: Bool?
      var filter: String?
      var ackPolicy: String?
      var maxDeliver: Int?
      /// The subject to which a consumer delivers without being asked.
      var deliverSubject: String?
      var start: String?
      var startPosition: UInt64?
      var startTime: String?

      enum CodingKeys: String, CodingKey {
        case subjects
        case maxAge = "max_age"
        case replicas = "num_replicas"
        case hasNoReceipts = "no_ack"
        case filter = "filter_subject"
        case ackPolicy = "ack_policy"
        case maxDeliver = "max_deliver"
        case deliverSubject = "deliver_subject"
        case start = "deliver_policy"
        case startPosition = "opt_start_seq"
        case startTime = "opt_start_time"
      }
    }

    /// One delivery that a consumer made: its number, and the position in the stream of the message
    /// that was delivered.
    struct Place: Decodable {
      /// The number of this delivery among all deliveries that the consumer made, counted from 1; 0
      /// before the first one. A redelivery of the message has a new number, and the old position.
      var number: UInt64
      var position: UInt64

      enum CodingKeys: String, CodingKey {
        case number = "consumer_seq"
        case position = "stream_seq"
      }
    }

    /// The facts that the server tells about the messages of a stream.
    struct State: Decodable {
      var lastPosition: UInt64

      enum CodingKeys: String, CodingKey { case lastPosition = "last_seq" }
    }

    var error: Failure?
    var config: Config?
    var state: State?
    var streams: [String]?
    /// The time at which the stream or the consumer was made.
    var created: String?
    /// The last delivery that the consumer made. Before the first delivery, `position` is one less
    /// than the position at which the consumer starts.
    var delivered: Place?
    /// The last delivery of the consumer up to which every delivered message has a final verdict:
    /// done or reject. While the first message that the consumer delivered has no final verdict,
    /// number and position are 0, even if the consumer starts at a later position of the stream.
    var floor: Place?

    enum CodingKeys: String, CodingKey {
      case error, config, state, streams, created, delivered
      case floor = "ack_floor"
    }

    /// The position in the stream up to which every message of the consumer has a final verdict:
    /// done or reject. `nil` while the first message that the consumer delivered has no final
    /// verdict, and for an answer that is not about a consumer.
    var handledPosition: UInt64? {
      guard let floor, let delivered else { return nil }
      if floor.number == delivered.number { return delivered.position }
      return floor.number > 0 ? floor.position : nil
    }

    /// Whether the requested stream or consumer does not exist.
    var isMissing: Bool { error?.code == 404 }
  }

  /// The configuration of a new stream.
  struct StreamConfig: Encodable {
    var name: String
    var subjects: [String]
    var maxAge: Int64
    var replicas: Int
    var window: Int64
    var storage = "file"
    var retention = "limits"
    var discard = "old"

    enum CodingKeys: String, CodingKey {
      case name, subjects, storage, retention, discard
      case maxAge = "max_age"
      case replicas = "num_replicas"
      case window = "duplicate_window"
    }
  }

  /// The configuration of a new consumer, which represents a group on the server.
  struct ConsumerConfig: Encodable {
    var name: String
    var filter: String
    var start = "new"
    var startPosition: UInt64?
    var startTime: String?
    /// The nanoseconds after which the server deletes an idle consumer; `nil` for never.
    var inactiveThreshold: Int64?
    var ackWait: Int64
    var ackPolicy = "explicit"
    var replayPolicy = "instant"
    var maxDeliver = -1
    var maxAckPending = -1

    enum CodingKeys: String, CodingKey {
      case name = "durable_name"
      case filter = "filter_subject"
      case start = "deliver_policy"
      case startPosition = "opt_start_seq"
      case startTime = "opt_start_time"
      case inactiveThreshold = "inactive_threshold"
      case ackWait = "ack_wait"
      case ackPolicy = "ack_policy"
      case replayPolicy = "replay_policy"
      case maxDeliver = "max_deliver"
      case maxAckPending = "max_ack_pending"
    }
  }

  struct ConsumerRequest: Encodable {
    var stream: String
    var config: ConsumerConfig

    enum CodingKeys: String, CodingKey {
      case stream = "stream_name"
      case config
    }
  }
#endif
