// Empty: this module only makes `canImport(ObjectiveC)` true. KeyValueObserving.swift has the
// declarations that Foundation adds.
