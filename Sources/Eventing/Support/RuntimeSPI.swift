#if EVENTING_DOCUMENTED_ONLY
  public import Synchronization
#endif

// Swift's runtime and standard library have functions without a public name. The library calls such
// functions only in this file. A comment on each call states the assumption that it relies on and
// what happens if the assumption fails. The hooks for simulations are in RuntimeHooks.swift of
// EventingTesting.
//
// `RuntimeSPITests` tests each assumption. `-Xswiftc -DEVENTING_DOCUMENTED_ONLY` builds without
// these calls.
//
// ErasedClosures.swift makes no such call but relies on the calling convention of closures. It
// explains why that works, which test checks it and what the fallback is.

/// A task's address doesn't identify it, because a later task may have the same address.
package enum TaskID {
  static var current: UInt64 {
    unsafe withUnsafeCurrentTask { task in
      guard let task = unsafe task else { return 0 }
      // Safe: an UnsafeCurrentTask is a reference to the task and nothing else.
      return unsafe RuntimeSPI.taskNumber(unsafeBitCast(task, to: UnsafeRawPointer.self))
    }
  }

  package static func of(_ job: UnownedJob) -> UInt64 {
    // Safe: an UnownedJob consists of a single reference to the job. A task's job is the task
    // object itself.
    unsafe RuntimeSPI.taskNumber(unsafeBitCast(job, to: UnsafeRawPointer.self))
  }
}

@usableFromInline enum RuntimeSPI {
  /// Assumption: `swift_task_getJobTaskId` is exported and never returns the same number for two
  /// tasks. With the fallback, the task's address, an ended task may be mistaken for a later one.
  static func taskNumber(_ task: UnsafeRawPointer) -> UInt64 {
    #if EVENTING_DOCUMENTED_ONLY
      UInt64(UInt(bitPattern: task))
    #else
      unsafe swift_task_getJobTaskId(task)
    #endif
  }

  /// Assumption: each task that inherits a task-local value retains it. `isKnownUniquelyReferenced`
  /// won't do, because there may be two references even without a task. The fallback increments a
  /// counter, as if each call had started a task.
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

  /// Assumption: `_isPOD` is true only if copying copies the bytes and destroying does nothing. The
  /// fallback, copying through the witness table, is slower but correct.
  static func isTrivial<Payload>(_ type: Payload.Type) -> Bool {
    #if EVENTING_DOCUMENTED_ONLY
      false
    #else
      _isPOD(type)
    #endif
  }

  /// Assumption: isolation doesn't change the calling convention of a synchronous function.
  /// `MainActor.assumeIsolated` relies on this as well. There is no fallback.
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
