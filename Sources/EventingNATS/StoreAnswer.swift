#if NATS
  import EventingTransport
  import Foundation

  /// The answer of a stream to a published message.
  enum StoreAnswer: Equatable {
    /// The kind of a refusal, which says whether a further attempt may succeed.
    enum Refusal: Equatable {
      /// A later attempt may succeed: the stream has no room, or the server has no leader.
      case comesAgain
      /// Each attempt will fail, because of what the message is or asks for.
      case never
      /// Each attempt will fail, because of the size.
      case tooLarge

      /// The numbers of errors about one message that do not tell so by their code.
      private static let lasting: Set<Int> = [
        10_060, 10_070, 10_071, 10_111, 10_164,  // what the message expects of the stream; a rollup
        10_165, 10_166,  // its time to live
      ]

      /// - Parameters:
      ///   - number: The number of the error, which the server calls `err_code`.
      ///   - code: The code of the error, as HTTP has it: 400 stands for a wrong request, 404 for a
      ///     missing thing, 500 and above for faults of the server.
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
    case refused(Refusal, String)

    /// Decodes the answer. To be fast for every publish, does not decode the JSON of a success:
    /// finds the stored message's position behind `"seq":` in the text. Decodes JSON only for an
    /// error.
    init(_ body: [UInt8]) {
      let text = String(decoding: body, as: UTF8.self)
      if text.utf8.count < 4_096, !text.contains("\"error\":"),
        let position = StoreAnswer.number(after: "\"seq\":", text)
      {
        self = .stored(Receipt(position: position, isDuplicate: text.contains("\"duplicate\":")))
        return
      }
      let error = (try? JSONDecoder().decode(StreamAnswer.self, from: Data(body)))?.error
      self = .refused(
        error.map { Refusal(number: $0.number, code: $0.code) } ?? .comesAgain,
        error?.description ?? "the answer is none of a stream")
    }

    private static func number(after key: String, _ text: String) -> UInt64? {
      guard let range = text.range(of: key) else { return nil }
      return UInt64(text[range.upperBound...].drop { $0 == " " }.prefix { $0.isNumber })
    }
  }
#endif
