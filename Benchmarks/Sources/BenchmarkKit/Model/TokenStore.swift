/// Keeps the tokens of an adapter's handlers.
///
/// The store reserves all its memory when it is created. So the measured bytes of a handler are the
/// library's alone.
// Safe: the harness adds and replaces handlers from one thread at a time.
package final class TokenStore<Token>: @unchecked Sendable {
  package var tokens: [Token] = []
  package init() { tokens.reserveCapacity(1 << 20) }
}
