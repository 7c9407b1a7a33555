// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Functions that read a value behind the mutex of `Guarded`, a generic type of another module. The
// compiler specialises `read` for each type of value, as it does in clients of the library.

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
