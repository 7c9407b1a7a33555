/// Keeps an adapter's tokens. An adapter is told to add and to replace by one thread at a time.
///
/// Room for them is made at once, so that what a handler is found to take is the library's alone.
package final class TokenStore<Token>: @unchecked Sendable {  // one thread at a time, see above
  package var tokens: [Token] = []
  package init() { tokens.reserveCapacity(1 << 20) }
}
