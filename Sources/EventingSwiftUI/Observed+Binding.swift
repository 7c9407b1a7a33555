#if canImport(SwiftUI)
  public import Eventing
  public import SwiftUI

  extension Observed {
    /// A binding to the value, for controls.
    ///
    ///     Slider(value: player.$volume.binding)
    ///
    /// A view that reads the binding is evaluated again when the value changes, on any thread. The
    /// binding retains the value. Writing delivers the change as setting the value does.
    public var binding: Binding<Value> {
      Binding(get: { value }, set: { value = $0 })
    }
  }
#endif
