/// Keeps an adapter's tokens. An adapter is told to add and to replace by one thread at a time.
package final class TokenStore<Token>: @unchecked Sendable {  // one thread at a time, see above
  package var tokens: [Token] = []
  package init() {}
}
