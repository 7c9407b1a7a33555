// The declarations of Darwin that the library uses, as Apple's headers import them into Swift.

public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public struct _opaque_pthread_t {}
public typealias pthread_key_t = UInt
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock_s>
public struct os_unfair_lock_s {
  public var _os_unfair_lock_opaque: UInt32
  public init() { _os_unfair_lock_opaque = 0 }
}
public struct clockid_t: Equatable, Sendable {}
public typealias useconds_t = UInt32

public let CLOCK_UPTIME_RAW = clockid_t()

public func pthread_self() -> pthread_t { fatalError("a stub") }
public func pthread_key_create(
  _ key: UnsafeMutablePointer<pthread_key_t>!, _ destructor: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> Int32 { fatalError("a stub") }
public func pthread_getspecific(_ key: pthread_key_t) -> UnsafeMutableRawPointer? { fatalError("a stub") }
@discardableResult public func pthread_setspecific(_ key: pthread_key_t, _ value: UnsafeRawPointer?) -> Int32 {
  fatalError("a stub")
}
@discardableResult public func sched_yield() -> Int32 { fatalError("a stub") }
public func usleep(_ microseconds: useconds_t) -> Int32 { fatalError("a stub") }
public func malloc(_ size: Int) -> UnsafeMutableRawPointer! { fatalError("a stub") }
public func free(_ memory: UnsafeMutableRawPointer!) { fatalError("a stub") }
public func write(_ file: Int32, _ bytes: UnsafeRawPointer!, _ count: Int) -> Int { fatalError("a stub") }
public func os_unfair_lock_lock(_ lock: os_unfair_lock_t) { fatalError("a stub") }
public func os_unfair_lock_unlock(_ lock: os_unfair_lock_t) { fatalError("a stub") }
public struct timespec {
  public var tv_sec = 0
  public var tv_nsec = 0
  public init() {}
}
public let CLOCK_REALTIME = clockid_t()
public func clock_gettime(_ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>) -> Int32 { fatalError("a stub") }
public func clock_gettime_nsec_np(_ clock: clockid_t) -> UInt64 { fatalError("a stub") }
