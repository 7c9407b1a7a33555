extension Buffering {
  enum Decision { case keep, dropIt, dropOldest }

  func decision(waiting: Int, isSend: Bool) -> Decision {
    switch kind {
    case .unbounded: .keep
    case .oldest(let count): waiting < count ? .keep : .dropIt
    case .newest(let count): waiting < count ? .keep : .dropOldest
    case .suspendingSender(let count): waiting < count || isSend ? .keep : .dropIt
    case .paced: waiting < 1 ? .keep : .dropOldest
    }
  }

  func decision(waiting: Int, _ completion: Completion?) -> Decision {
    if case .paced = kind, unsafe completion?.needsNoRoom == true { return .keep }
    return decision(waiting: waiting, isSend: completion?.isSend == true)
  }
}
