#if EVENTING_DOCUMENTED_ONLY
  public import Synchronization
#endif

// Swift's runtime and standard library have functions without a public name. The library calls such
// functions in this file only. Each call has a comment: the assumption that the call rests on, and
// what happens if the assumption fails. The hooks of simulations stand in RuntimeHooks.swift of
// EventingTesting.
//
// `RuntimeSPITests` tests each assumption. `-Xswiftc -DEVENTING_DOCUMENTED_ONLY` builds without
// these calls.
//
// ErasedClosures.swift makes no such call, but assumes a calling convention of closures. That file
// itself says why the assumption holds, which test checks it, and what the fallback is.

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
  /// task serves as its number. When the task has ended, a later task may have that address. Then a
  /// loop of the ended task over a sequence may be taken for a loop of the later task, and a `send`
  /// may defer a handler that it could wait for.
  static func taskNumber(_ task: UnsafeRawPointer) -> UInt64 {
    #if EVENTING_DOCUMENTED_ONLY
      UInt64(UInt(bitPattern: task))
    #else
      unsafe swift_task_getJobTaskId(task)
    #endif
  }

  /// Returns the number of strong references to an invocation. If the number is higher after a call
  /// than before, the call has started a task that has not ended.
  ///
  /// Assumption: each task that inherits a task-local value retains the value.
  /// `isKnownUniquelyReferenced` would not do, because it tells only whether there is exactly one
  /// reference. Even without a task there may be two: one of the task-local binding, and one that
  /// the compiler keeps.
  ///
  /// With `EVENTING_DOCUMENTED_ONLY`, this function returns a different number each time, as if
  /// each call had started a task. So each call of a handler gets an `Invocation` of its own.
  @inline(__always) static func references(to invocation: Unmanaged<some AnyObject>) -> UInt {
    #if EVENTING_DOCUMENTED_ONLY
      last.wrappingAdd(1, ordering: .relaxed).newValue
    #else
      unsafe invocation._withUnsafeGuaranteedRef { _getRetainCount($0) }
    #endif
  }

  #if EVENTING_DOCUMENTED_ONLY
    @usableFromInline static let last = Atomic<UInt>(0)
  #endif

  /// Returns whether copies of a type are copies of its bytes, and destroying a value does nothing.
  ///
  /// Assumption: `_isPOD` returns true for such types only. Without `_isPOD`, every payload is
  /// copied, moved and destroyed through its type's witness table: slower, and correct.
  static func isTrivial<Payload>(_ type: Payload.Type) -> Bool {
    #if EVENTING_DOCUMENTED_ONLY
      false
    #else
      _isPOD(type)
    #endif
  }

  /// Returns a main-actor closure without its isolation. The lane that calls the closure runs on
  /// the main queue, and checks this once in each block in which it makes calls.
  ///
  /// Assumption: isolation does not change the calling convention of a synchronous function. The
  /// standard library's `MainActor.assumeIsolated` rests on this assumption, too. There is no
  /// fallback.
  @usableFromInline static func withoutMainActor<Value>(
    _ body: @escaping @MainActor @Sendable (Value) throws -> Void
  ) -> @Sendable (Value) throws -> Void {
    // Safe: by the assumption.
    unsafe unsafeBitCast(body, to: (@Sendable (Value) throws -> Void).self)
  }
}

#if !EVENTING_DOCUMENTED_ONLY
  @_silgen_name("swift_task_getJobTaskId") private func swift_task_getJobTaskId(_ task: UnsafeRawPointer) -> UInt64
#endif
