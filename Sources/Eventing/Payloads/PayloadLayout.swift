#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The payload type of an event, as a value: the core is compiled once for all payload types.
@usableFromInline package typealias PayloadType = any Sendable.Type

// `_openExistential` opens the type explicitly: within an `unsafe` expression Swift 6.3 does not
// open it by itself (SE-0352).

/// The memory layout of a payload type, and whether its values can be copied byte by byte.
struct PayloadLayout: Sendable {
  let type: PayloadType
  let stride: Int
  /// The size in bytes of a trivial type. -1 for a type that runs code to copy or destroy a value.
  let trivialSize: Int

  init(_ type: PayloadType) {
    func read<Payload: Sendable>(_: Payload.Type) -> (stride: Int, size: Int) {
      assert(MemoryLayout<Payload>.alignment <= PayloadLayout.largestAlignment)
      return (MemoryLayout<Payload>.stride, RuntimeSPI.isTrivial(Payload.self) ? MemoryLayout<Payload>.size : -1)
    }
    self.type = type
    (stride, trivialSize) = read(type)
  }

  /// Whether copying a value copies its bytes, and destroying a value does nothing.
  var isTrivial: Bool { trivialSize >= 0 }

  /// The most bytes of payload memory that an idle queue or lane keeps for further payloads.
  static var keptBytes: Int { 65_536 }

  /// The number of payloads for which a lane keeps memory: at least 1, and as many as fit into half
  /// of ``keptBytes``, up to a limit.
  func keptCount(atMost limit: Int) -> Int { max(1, min(limit, PayloadLayout.keptBytes / 2 / max(1, stride))) }

  /// The largest alignment of a Swift type, on all platforms. Vectors of 32 bytes and more have it,
  /// too, and the compiler imports no C record with a larger one.
  static let largestAlignment = 16

  /// Allocates uninitialized memory for `count` payloads, which ``deallocate(_:)`` frees.
  ///
  /// `UnsafeMutableRawPointer.allocate` calls `posix_memalign`, which takes 235 instructions
  /// (x86-64 Linux) even for the alignment that `malloc` has on all 64-bit systems.
  func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    #if _pointerBitWidth(_64)
      guard let memory = unsafe malloc(count * stride) else {
        fatalError("no memory for \(count) payloads of \(stride) bytes")
      }
      return unsafe memory
    #else
      .allocate(byteCount: count * stride, alignment: Self.largestAlignment)
    #endif
  }

  /// Frees memory of ``allocate(_:)`` whose payloads have been destroyed or moved.
  @inline(__always) static func deallocate(_ memory: UnsafeMutableRawPointer) {
    #if _pointerBitWidth(_64)
      unsafe free(memory)
    #else
      unsafe memory.deallocate()
    #endif
  }

  /// Initializes the memory at `address` with a copy of a payload.
  @inline(__always) func copy(_ payload: BorrowedPayload, to address: UnsafeMutableRawPointer) {
    payload.check(type)
    if trivialSize == 8 {
      unsafe address.storeBytes(of: payload.address.loadUnaligned(as: UInt64.self), as: UInt64.self)
    } else if isTrivial {
      unsafe address.copyMemory(from: payload.address, byteCount: trivialSize)
    } else {
      unsafe copyWithReferences(payload, to: address)
    }
  }

  private func copyWithReferences(_ payload: BorrowedPayload, to address: UnsafeMutableRawPointer) {
    func copy<Payload>(_: Payload.Type) {
      unsafe address.assumingMemoryBound(to: Payload.self).initialize(to: payload.pointer(to: Payload.self).pointee)
    }
    _openExistential(type, do: copy)
  }

  /// Moves a payload to uninitialized memory. Runs no user code.
  @inline(__always) func move(from source: UnsafeMutableRawPointer, to address: UnsafeMutableRawPointer) {
    if trivialSize == 8 {
      unsafe address.storeBytes(of: source.loadUnaligned(as: UInt64.self), as: UInt64.self)
    } else if isTrivial {
      unsafe address.copyMemory(from: source, byteCount: trivialSize)
    } else {
      unsafe moveWithReferences(from: source, to: address)
    }
  }

  // A payload may contain a weak reference, which the runtime may register by its address. A move
  // of the bytes alone would leave the registration at the old address.
  //
  // On Darwin, the Objective-C runtime copies a weak reference to an Objective-C object. It takes
  // locks of its own, and retains the object until the copy is made. Lanes copy payloads under a
  // mutex. If the last owner releases the object meanwhile, its `dealloc` runs under that mutex,
  // and must not use the event. A weak reference to a Swift object is copied without a retain.
  private func moveWithReferences(from source: UnsafeMutableRawPointer, to address: UnsafeMutableRawPointer) {
    func move<Payload>(_: Payload.Type) {
      unsafe address.assumingMemoryBound(to: Payload.self)
        .moveInitialize(from: source.assumingMemoryBound(to: Payload.self), count: 1)
    }
    _openExistential(type, do: move)
  }

  /// Destroys the payload at `address`. Never called under a mutex, because a `deinit` of the user
  /// may run.
  @inline(__always) func destroy(_ address: UnsafeMutableRawPointer) {
    if !isTrivial { unsafe destroyWithReferences(address) }
  }

  private func destroyWithReferences(_ address: UnsafeMutableRawPointer) {
    assertNoMutexIsHeld("destroy a payload")
    func destroy<Payload>(_: Payload.Type) {
      unsafe address.assumingMemoryBound(to: Payload.self).deinitialize(count: 1)
    }
    _openExistential(type, do: destroy)
  }
}
