#if canImport(SwiftUI)
  public import Eventing
  public import SwiftUI

  extension Observed {
    /// A binding to the value, for controls.
    ///
    ///     Slider(value: player.$volume.binding)
    ///
    /// When the value changes, on whatever thread, SwiftUI evaluates again each view that reads the
    /// binding. The binding retains the storage of the value. Setting the binding sets the value,
    /// and so delivers the change.
    public var binding: Binding<Value> {
      Binding(get: { value }, set: { value = $0 })
    }
  }
#endif
