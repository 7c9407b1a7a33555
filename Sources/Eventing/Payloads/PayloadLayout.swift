#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The core is compiled once for all payload types, so the type is a value.
@usableFromInline package typealias PayloadType = any Sendable.Type

// `_openExistential` opens the type explicitly, because Swift 6.3 doesn't open it implicitly within
// an `unsafe` expression (SE-0352).

struct PayloadLayout: Sendable {
  let type: PayloadType
  let stride: Int
  /// -1 if copying or destroying a value runs code.
  let trivialSize: Int

  init(_ type: PayloadType) {
    func read<Payload: Sendable>(_: Payload.Type) -> (stride: Int, size: Int) {
      assert(MemoryLayout<Payload>.alignment <= PayloadLayout.largestAlignment)
      return (MemoryLayout<Payload>.stride, RuntimeSPI.isTrivial(Payload.self) ? MemoryLayout<Payload>.size : -1)
    }
    self.type = type
    (stride, trivialSize) = read(type)
  }

  var isTrivial: Bool { trivialSize >= 0 }

  static var keptBytes: Int { 65_536 }

  func keptCount(atMost limit: Int) -> Int { max(1, min(limit, PayloadLayout.keptBytes / 2 / max(1, stride))) }

  /// Also the alignment of vectors of 32 bytes and more. No imported C record has a larger one.
  static let largestAlignment = 16

  /// Doesn't use `UnsafeMutableRawPointer.allocate`, which calls `posix_memalign` (235 instructions
  /// on x86-64 Linux) even for an alignment that `malloc` guarantees on all 64-bit systems.
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

  @inline(__always) static func deallocate(_ memory: UnsafeMutableRawPointer) {
    #if _pointerBitWidth(_64)
      unsafe free(memory)
    #else
      unsafe memory.deallocate()
    #endif
  }

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

  @inline(__always) func move(from source: UnsafeMutableRawPointer, to address: UnsafeMutableRawPointer) {
    if trivialSize == 8 {
      unsafe address.storeBytes(of: source.loadUnaligned(as: UInt64.self), as: UInt64.self)
    } else if isTrivial {
      unsafe address.copyMemory(from: source, byteCount: trivialSize)
    } else {
      unsafe moveWithReferences(from: source, to: address)
    }
  }

  // A payload may contain a weak reference, whose address the runtime may have registered. Moving
  // only the bytes would leave the old address registered.
  //
  // On Darwin, the Objective-C runtime copies a weak reference to an Objective-C object under its
  // own locks and retains the object while doing so. Lanes copy payloads under a mutex. If the last
  // owner releases the object during the copy, its `dealloc` runs under that mutex and must not use
  // the event. Copying a weak reference to a Swift object doesn't retain it.
  private func moveWithReferences(from source: UnsafeMutableRawPointer, to address: UnsafeMutableRawPointer) {
    func move<Payload>(_: Payload.Type) {
      unsafe address.assumingMemoryBound(to: Payload.self)
        .moveInitialize(from: source.assumingMemoryBound(to: Payload.self), count: 1)
    }
    _openExistential(type, do: move)
  }

  /// May run a user's `deinit`, so never called under a mutex.
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
