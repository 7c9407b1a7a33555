#if NATS
  import EventingTransport
  import Foundation

  enum StoreAnswer: Equatable {
    enum Refusal: Equatable {
      /// The stream has no room, or the server has no leader.
      case comesAgain
      /// The message is wrong, or asks for something wrong.
      case never
      case tooLarge

      /// The numbers of lasting errors about one message, which their codes do not show.
      private static let lasting: Set<Int> = [
        10_060, 10_070, 10_071, 10_111, 10_164,  // what the message expects of the stream; a rollup
        10_165, 10_166,  // its time to live
      ]

      /// - Parameters:
      ///   - number: The server calls it `err_code`.
      ///   - code: As in HTTP.
      init(number: Int?, code: Int) {
        switch number {
        case 10_054, 10_097: self = .tooLarge  // the message; its headers
        // The account has no room, or the stream is sealed: not the fault of the message.
        case 10_002, 10_109: self = .comesAgain
        case let number? where Refusal.lasting.contains(number): self = .never
        default: self = code == 400 ? .never : .comesAgain
        }
      }
    }

    case stored(Receipt)
    /// A cluster has an earlier copy of the message in hand, and doesn't know yet whether it will be
    /// stored. nats-server 2.10 then answers with the position 0, a later one with an error.
    case inProgress
    case refused(Refusal, String)

    private static let isInProgress = 10_158

    /// JSON is decoded only for an error. In a success, the position stands behind `"seq":`, which
    /// is fast for every publish.
    init(_ body: [UInt8]) {
      let text = String(decoding: body, as: UTF8.self)
      if text.utf8.count < 4_096, !text.contains("\"error\":"),
        let position = StoreAnswer.number(after: "\"seq\":", text)
      {
        let receipt = Receipt(position: position, isDuplicate: text.contains("\"duplicate\":"))
        self = position > 0 ? .stored(receipt) : .inProgress
        return
      }
      let error = (try? JSONDecoder().decode(StreamAnswer.self, from: Data(body)))?.error
      self =
        error?.number == StoreAnswer.isInProgress
        ? .inProgress
        : .refused(
          error.map { Refusal(number: $0.number, code: $0.code) } ?? .comesAgain,
          error?.description ?? "the answer is none of a stream")
    }

    private static func number(after key: String, _ text: String) -> UInt64? {
      guard let range = text.range(of: key) else { return nil }
      return UInt64(text[range.upperBound...].drop { $0 == " " }.prefix { $0.isNumber })
    }
  }
#endif
