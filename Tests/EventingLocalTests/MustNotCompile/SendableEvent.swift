import EventingLocal

final class View { var title = "" }

func share(_ value: some Sendable) {}

// error: conformance of 'LocalEvent<Payload>' to 'Sendable' is unavailable
func mistake(_ event: LocalEvent<View>) { share(event) }
