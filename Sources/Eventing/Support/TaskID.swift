/// Names a task for good.
///
/// Not its address, which comes back: another task there would be taken for one that has ended.
package enum TaskID {
  /// Of the calling task; 0 for none.
  static var current: UInt64 {
    unsafe withUnsafeCurrentTask { task in
      guard let task = unsafe task else { return 0 }
      // Safe: an UnsafeCurrentTask is the reference to the task and nothing else.
      return unsafe jobTaskID(unsafeBitCast(task, to: UnsafeRawPointer.self))
    }
  }

  /// Of the task that a job belongs to.
  package static func of(_ job: UnownedJob) -> UInt64 {
    // Safe: so is an UnownedJob.
    unsafe jobTaskID(unsafeBitCast(job, to: UnsafeRawPointer.self))
  }
}

/// The number that a task has in the description of its jobs and in the debugger; the runtime exports it, the standard library has no other name for it.
@_silgen_name("swift_task_getJobTaskId") private func jobTaskID(_ task: UnsafeRawPointer) -> UInt64
