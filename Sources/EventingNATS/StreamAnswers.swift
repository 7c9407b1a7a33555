#if NATS
  import Foundation

  /// Unknown fields are ignored.
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
      /// The stream does not answer what is published to it.
      var hasNoReceipts: Bool?
      var filter: String?
      var ackPolicy: String?
      var maxDeliver: Int?
      /// Set if the consumer delivers to this subject without being asked.
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

    struct Place: Decodable {
      /// The consumer's deliveries are counted from 1; 0 before the first one. A redelivery gets a
      /// new number but keeps its position.
      var number: UInt64
      var position: UInt64

      enum CodingKeys: String, CodingKey {
        case number = "consumer_seq"
        case position = "stream_seq"
      }
    }

    struct State: Decodable {
      var lastPosition: UInt64

      enum CodingKeys: String, CodingKey { case lastPosition = "last_seq" }
    }

    var error: Failure?
    var config: Config?
    var state: State?
    var streams: [String]?
    var created: String?
    /// Before the first delivery, `position` is one less than the consumer's start.
    var delivered: Place?
    /// Up to this delivery, every one has a final verdict: done or reject. 0 while the first has
    /// none, even if the consumer starts at a later position.
    var floor: Place?
    /// Counts of a consumer.
    var waiting: Int?
    var inHand: Int?
    var redelivered: Int?
    var message: StoredMessage?

    struct StoredMessage: Decodable {
      var subject: String?
      var time: String
      var body: Data?

      enum CodingKeys: String, CodingKey {
        case subject, time
        case body = "data"
      }
    }

    enum CodingKeys: String, CodingKey {
      case error, config, state, streams, created, delivered, message
      case floor = "ack_floor"
      case waiting = "num_pending"
      case inHand = "num_ack_pending"
      case redelivered = "num_redelivered"
    }

    /// Up to this position, every message has a final verdict: done or reject. `nil` while the
    /// first has none.
    var handledPosition: UInt64? {
      guard let floor, let delivered else { return nil }
      if floor.number == delivered.number { return delivered.position }
      return floor.number > 0 ? floor.position : nil
    }

    var isMissing: Bool { error?.code == 404 }
  }

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

  /// A consumer represents a group on the server.
  struct ConsumerConfig: Encodable {
    var name: String
    var filter: String
    var start = "new"
    var startPosition: UInt64?
    var startTime: String?
    /// After this time, the server deletes an idle consumer; `nil` for never.
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

  /// The message at a position or, with a subject, the first one of it from there on.
  struct MessageRequest: Encodable {
    var position: UInt64
    var subject: String?

    enum CodingKeys: String, CodingKey {
      case position = "seq"
      case subject = "next_by_subj"
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
