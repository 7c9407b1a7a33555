public import Eventing
public import Foundation

extension EventingError: LocalizedError {
  /// The description, so that `localizedDescription` returns it, too.
  public var errorDescription: String? { description }
}
