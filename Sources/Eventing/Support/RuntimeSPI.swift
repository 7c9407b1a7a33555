#if EVENTING_NO_RUNTIME_SPI
  public import Synchronization
#endif

// The library's calls into Swift's runtime and standard library that have no public name. All of
// them stand here, each with the assumption that it rests on and with what happens if the
// assumption fails. The hooks of simulations stand in RuntimeHooks.swift of EventingTesting.
//
// `RuntimeSPITests` tests each assumption. `-Xswiftc -DEVENTING_NO_RUNTIME_SPI` builds without
// these calls.
//
// ErasedClosures.swift rests on the calling convention of closures. That is an assumption, too, but
// no call. So that file itself says why the assumption holds, which test checks it, and what the
// fallback is.

/// Numbers that name tasks and are never used again.
///
/// An address does not name a task: a later task at the same address would be taken for one that
/// has ended.
package enum TaskID {
  /// The number of the calling task; 0 outside of tasks.
  static var current: UInt64 {
    unsafe withUnsafeCurrentTask { task in
      guard let task = unsafe task else { return 0 }
      // Safe: an UnsafeCurrentTask is the reference to the task and nothing else.
      return unsafe RuntimeSPI.taskNumber(unsafeBitCast(task, to: UnsafeRawPointer.self))
    }
  }

  /// Returns the number of the task that a job belongs to.
  package static func of(_ job: UnownedJob) -> UInt64 {
    // Safe: an UnownedJob is one reference, to the job, and has no other field. The job of a task
    // is the task object itself.
    unsafe RuntimeSPI.taskNumber(unsafeBitCast(job, to: UnsafeRawPointer.self))
  }
}

@usableFromInline enum RuntimeSPI {
  /// Returns the number of a task, which its jobs' descriptions and the debugger show.
  ///
  /// Assumption: the runtime exports `swift_task_getJobTaskId`, and gives no number twice. The
  /// runtime does so on all platforms since Swift 5.5. Without this function, the address of the
  /// task serves, which a later task may have when this one has ended. Then a loop of the ended
  /// task over a sequence may be taken for a loop of the later task, and a `send` may defer a
  /// handler that it could wait for.
  static func taskNumber(_ task: UnsafeRawPointer) -> UInt64 {
    #if EVENTING_NO_RUNTIME_SPI
      UInt64(UInt(bitPattern: task))
    #else
      unsafe swift_task_getJobTaskId(task)
    #endif
  }

  /// Returns the number of strong references to an invocation.
  ///
  /// Assumption: a task-local value is retained by each task that inherits it, so the number grows
  /// when a call starts a task that goes on after it. `isKnownUniquelyReferenced` cannot tell: it
  /// asks whether there is exactly one reference, and there may be two without such a task: that of
  /// the task-local binding, and one that the compiler keeps. With `EVENTING_NO_RUNTIME_SPI`, this
  /// function returns a different number each time. That reads as if the call had started such a
  /// task, so each call of a handler gets an `Invocation` of its own.
  @usableFromInline @inline(__always) static func references(to invocation: Unmanaged<some AnyObject>) -> UInt {
    #if EVENTING_NO_RUNTIME_SPI
      last.wrappingAdd(1, ordering: .relaxed).newValue
    #else
      unsafe invocation._withUnsafeGuaranteedRef { _getRetainCount($0) }
    #endif
  }

  #if EVENTING_NO_RUNTIME_SPI
    @usableFromInline static let last = Atomic<UInt>(0)
  #endif

  /// Returns whether copies of a type are copies of its bytes, and destroying a value does nothing.
  ///
  /// Assumption: `_isPOD` says so. Without `_isPOD`, every payload is copied, moved and destroyed
  /// through its type's witness table: slower, and correct.
  static func isTrivial<Payload>(_ type: Payload.Type) -> Bool {
    #if EVENTING_NO_RUNTIME_SPI
      false
    #else
      _isPOD(type)
    #endif
  }

  /// Returns a main-actor closure without its isolation. The lane that calls the closure runs on
  /// the main queue, and checks this once in each block in which it makes calls.
  ///
  /// Assumption: a synchronous function is called alike with an isolation and without one. The
  /// standard library's `MainActor.assumeIsolated` rests on it, too. There is no fallback.
  @usableFromInline static func withoutMainActor<Value>(
    _ body: @escaping @MainActor @Sendable (Value) throws -> Void
  ) -> @Sendable (Value) throws -> Void {
    // Safe: by the assumption.
    unsafe unsafeBitCast(body, to: (@Sendable (Value) throws -> Void).self)
  }
}

#if !EVENTING_NO_RUNTIME_SPI
  @_silgen_name("swift_task_getJobTaskId") private func swift_task_getJobTaskId(_ task: UnsafeRawPointer) -> UInt64
#endif
