#if canImport(SwiftUI)
  public import Eventing
  public import SwiftUI

  extension Observed {
    /// A binding to the value, for controls.
    ///
    ///     Slider(value: player.$volume.binding)
    ///
    /// SwiftUI evaluates a view that reads the binding again when the value changes, on any thread.
    /// The binding retains the value. Setting the binding sets the value, and so delivers the
    /// change.
    public var binding: Binding<Value> {
      Binding(get: { value }, set: { value = $0 })
    }
  }
#endif
