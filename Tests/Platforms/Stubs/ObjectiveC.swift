// Empty: `canImport(ObjectiveC)` has to be true. KeyValueObserving.swift has what Foundation adds.
