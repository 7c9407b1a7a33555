// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Functions that read through specialised code in another module, as clients of the library do.

public import Locked

public func specialObject(_ from: Guarded<Thing>) -> Thing { from.read() }
public func specialTwo(_ from: Guarded<Two>) -> Two { from.read() }
public func specialThree(_ from: Guarded<Three>) -> Three { from.read() }
public func specialExistential(_ from: Guarded<any Sayable>) -> any Sayable { from.read() }
public func specialClosure(_ from: Guarded<() -> Int>) -> () -> Int { from.read() }
public func specialLookup(_ from: Guarded<[Int: Thing]>, _ key: Int) -> Thing? { from.read { $0[key] } }
public func specialElement(_ from: Guarded<[Thing]>, _ index: Int) -> Thing { from.read { $0[index] } }
public func specialOptional(_ from: Guarded<Thing?>) -> Thing? { from.read() }
public func specialArray(_ from: Guarded<[Thing]>) -> [Thing] { from.read() }
