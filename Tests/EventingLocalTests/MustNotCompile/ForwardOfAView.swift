import Eventing
import EventingLocal

final class View { var title = "" }

func mistake(_ views: LocalEvent<View>, _ titles: Event<String>) {
  views.map(\.title).forward(to: titles)
  // error: type 'View' does not conform to the 'Sendable' protocol
  views.map { view in view }.forward(to: Event<View>())
}
