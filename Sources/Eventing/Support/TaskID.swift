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
      return unsafe jobTaskID(unsafeBitCast(task, to: UnsafeRawPointer.self))
    }
  }

  /// Returns the number of the task that a job belongs to.
  package static func of(_ job: UnownedJob) -> UInt64 {
    // Safe: an UnownedJob is the reference to the job, which is the task, and nothing else.
    unsafe jobTaskID(unsafeBitCast(job, to: UnsafeRawPointer.self))
  }
}

/// Returns the number of a task, which descriptions of its jobs and the debugger show.
///
/// The runtime exports this function. The standard library has no other name for it.
@_silgen_name("swift_task_getJobTaskId") private func jobTaskID(_ task: UnsafeRawPointer) -> UInt64
