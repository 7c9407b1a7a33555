import Eventing

/// The account of a batch of occurrences, which notes everything in the account of each.
final class BatchAccount: DeliveryAccount {
  private let accounts: [any DeliveryAccount]
  private let isWhole: Bool

  init(_ accounts: [any DeliveryAccount], _ isWhole: Bool) { (self.accounts, self.isWhole) = (accounts, isWhole) }

  /// What all occurrences came through: no fresh one is cut off for another one.
  var origin: (any Sendable)? {
    let ways = accounts.map { $0.origin as? RemoteWay ?? RemoteWay() }
    return isWhole ? ways.dropFirst().reduce(ways[0]) { $0.common(with: $1) } : nil
  }
  var isRepeated: Bool { accounts.contains(where: \.isRepeated) }
  var makeMark: (@Sendable () -> any OccurrenceMark)? {
    let makers = accounts.compactMap(\.makeMark)
    if makers.isEmpty { return nil }
    return { BatchMark(makers.map { $0() }) }
  }

  func tell(_ fate: OccurrenceFate) { for account in accounts { account.tell(fate) } }
  func joined(with others: some Collection<any DeliveryAccount>, isWhole: Bool) -> any DeliveryAccount {
    BatchAccount([self] + others, isWhole)
  }
  func noteLeftOut() { for account in accounts { account.noteLeftOut() } }
  func noteIntercepted(stops isStop: Bool) { for account in accounts { account.noteIntercepted(stops: isStop) } }
  func noteLock() { for account in accounts { account.noteLock() } }
  func noteReplaced() { for account in accounts { account.noteReplaced() } }
  func noteForward() { for account in accounts { account.noteForward() } }
  func note(_ outcome: Outcome) { for account in accounts { account.note(outcome) } }
  func note(_ outcomes: SendReport) { for account in accounts { account.note(outcomes) } }
}

/// The marks of a batch's occurrences in one sequence.
private final class BatchMark: OccurrenceMark {
  private let marks: [any OccurrenceMark]

  init(_ marks: [any OccurrenceMark]) { self.marks = marks }

  func share() { for mark in marks { mark.share() } }
  func handled() { for mark in marks { mark.handled() } }
}
