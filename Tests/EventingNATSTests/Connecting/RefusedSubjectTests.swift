#if NATS
  import Testing

  @testable import EventingNATS

  /// Tests of how a subject is found in the error text of a server.
  @Suite(.timeLimit(.minutes(5))) struct RefusedSubjectTests {
    private func text(_ subject: String, for verb: String = "Publish") -> String {
      "'Permissions Violation for \(verb) to \"\(subject)\""
    }

    /// Returns a text as libnats keeps it: cut after 255 bytes.
    private func cut(_ text: String) -> String { String(decoding: text.utf8.prefix(255), as: UTF8.self) }

    @Test func aSubjectIsFoundWithTheEscapesOfTheServer() {
      for (subject, shown) in [("a.b", "a.b"), ("a\"b", "a\\\"b"), ("a\\b", "a\\\\b"), ("prices.me@x", "prices.me@x")] {
        #expect(RefusedSubject(subject, for: .publish).match(in: text(shown)) == .whole)
        #expect(RefusedSubject(subject, for: .subscribe).match(in: text(shown)) == nil)
        #expect(RefusedSubject(subject, for: .publish).match(in: text("c." + shown)) == nil)
        #expect(RefusedSubject(subject + "c", for: .publish).match(in: text(shown)) == nil)
      }
    }

    @Test(arguments: ["a", "ä"]) func aSubjectIsFoundInATextThatWasCut(letter: String) {
      let long = String(repeating: letter, count: 300)
      #expect(RefusedSubject(long, for: .subscribe).match(in: cut(text(long, for: "Subscription"))) == .cut)
      #expect(RefusedSubject("b" + long, for: .subscribe).match(in: cut(text(long, for: "Subscription"))) == nil)
      #expect(RefusedSubject(letter, for: .subscribe).match(in: cut(text(long, for: "Subscription"))) == nil)
    }

    /// If the server refuses a request, its error text contains the subject of the request. The
    /// engine compares this text with the subjects of the pending requests, to find the refused
    /// one. The outcome of that request has the *shown* text: the error text without secrets. The
    /// engine cannot compare the shown text. A part of the subject may be missing there, because it
    /// looks like a login or is a password.
    @Test func aRequestEndsWithTheShownText() async {
      let requests = PendingRequests()
      let (_, outcome) = requests.begin("prices.me@x", until: .now + .seconds(600), endsWhenLost: true)
      let (token, _) = requests.begin("prices.me", until: .now + .seconds(600), endsWhenLost: true)
      requests.fail(text("prices.me@x"), shown: "shown")
      guard case .refused("shown") = await outcome.value else {
        Issue.record("expected the request to be refused")
        return
      }
      #expect(requests.isPending(token))
    }

    /// libnats cuts the end of a long error text, and so the end of the refused subject. If the
    /// subjects of two pending requests have the same beginning, the text does not tell which of
    /// the two requests was refused. So neither request is ended.
    @Test func aCutTextEndsNoRequestIfItMayNameTwo() async {
      let (requests, long) = (PendingRequests(), String(repeating: "a", count: 300))
      let tokens = ["b", "c"].map { requests.begin(long + $0, until: .now + .seconds(600), endsWhenLost: true).token }
      requests.fail(cut(text(long + "b")), shown: "shown")
      #expect(tokens.allSatisfy(requests.isPending))
      requests.end(tokens[1], .cancelled)
      requests.fail(cut(text(long + "b")), shown: "shown")
      #expect(!requests.isPending(tokens[0]))
    }
  }
#endif
