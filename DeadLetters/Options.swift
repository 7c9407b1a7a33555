#if NATS
  import EventingTransport

  /// What the command does, and with which letters.
  struct Options {
    enum Action: String, CaseIterable { case list, show, send, discard, serve }

    var server = ""
    var stream = ""
    var subject = ""
    var action = Action.list
    var target: String?
    var readers: String?
    var credentials: String?
    var socket: String?
    var limit = 10_000
    var isAll = false
    var id: String?
    var group: String?
    var handler: String?
    var reason: String?

    static let help = """
      Lists the dead letters of a subject, shows them, sends their messages again, or discards them.

        dead-letters SERVER STREAM SUBJECT [list | show | send | discard | serve] [options]

      list counts the letters by subject, group, handler and reason; show prints them. send and discard need --all, or an
      option that selects letters. serve lets the inspector show all letters, send them again and discard them, until it is
      interrupted:

        --id ID            the letter of this message
        --group NAME       letters of this group of listeners
        --handler NAME     letters of this handler
        --reason TEXT      letters whose reason has this text
        --all              all letters

        --at PATH          the socket for serve, such as /tmp/letters.sock
        --to STREAM        the stream of the messages (that of the letters)
        --limit N          the most letters that are read, those that were stored first (10000)
        --readers NAME     the group of those who decide about letters (dead-letters). Another name begins with all stored
                           letters, also with those that were sent again
        --credentials FILE a credentials file of NATS
        --help             this text

      While a command runs, it has the letters, and another one gets none. Only the group that gave a message up gets it again,
      with its id, in its order, and with no attempts. Discarded letters stay stored, but no reader gets them again. The exit
      code is 0 if all went well, 1 if something failed, nothing was selected or letters were missing, and 64 for wrong options.
      """

    /// Throws a sentence that names the expected and the found text.
    init(_ arguments: [String]) throws {
      var places: [String] = []
      var seen: Set<String> = []
      var rest = arguments[...]
      let texts: [String: WritableKeyPath<Options, String?>] = [
        "--id": \.id, "--group": \.group, "--handler": \.handler, "--reason": \.reason, "--to": \.target,
        "--readers": \.readers, "--credentials": \.credentials, "--at": \.socket,
      ]
      while let word = rest.popFirst() {
        guard word.hasPrefix("--") else {
          places.append(word)
          continue
        }
        if word == "--all" {
          isAll = true
          continue
        }
        guard texts[word] != nil || word == "--limit" else {
          throw Refusal("expected an option of --help, got \(word)")
        }
        guard seen.insert(word).inserted else { throw Refusal("expected \(word) once") }
        let value = rest.popFirst() ?? ""
        guard !value.isEmpty, !value.hasPrefix("--") else {
          throw Refusal("expected a value after \(word), got \(value.isEmpty ? "nothing" : value)")
        }
        if let text = texts[word] {
          self[keyPath: text] = value
        } else if let number = Int(value), number > 0 {
          limit = number
        } else {
          throw Refusal("expected a number above 0 after --limit, got \(value)")
        }
      }
      guard (3...4).contains(places.count) else {
        throw Refusal(
          "expected SERVER STREAM SUBJECT and perhaps an action, got \(places.isEmpty ? "nothing" : places.joined(separator: " "))"
        )
      }
      (server, stream, subject) = (places[0], places[1], places[2])
      if places.count == 4 {
        guard let found = Action(rawValue: places[3]) else {
          let all = Action.allCases.map(\.rawValue).joined(separator: ", ")
          throw Refusal("expected one of \(all), got \(places[3])")
        }
        action = found
      }
      guard (action == .serve) == (socket != nil) else {
        throw Refusal("expected --at PATH with serve, and only then")
      }
      if action == .serve, ![id, group, handler, reason].allSatisfy({ $0 == nil }) {
        throw Refusal("expected no option that selects letters with serve, which shows all")
      }
      if [.send, .discard].contains(action), !isAll, [id, group, handler, reason].allSatisfy({ $0 == nil }) {
        throw Refusal(
          "expected --all, or --id, --group, --handler or --reason for \(action.rawValue), got none of them")
      }
    }

    func selects(_ letter: RemoteDeadLetter) -> Bool {
      func matches(_ wanted: String?, _ found: String?) -> Bool { wanted == nil || wanted == found }
      return matches(id, letter.id) && matches(group, letter.group) && matches(handler, letter.handler)
        && (reason.map { letter.reason.contains($0) } ?? true)
    }
  }

  struct Refusal: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
#endif
