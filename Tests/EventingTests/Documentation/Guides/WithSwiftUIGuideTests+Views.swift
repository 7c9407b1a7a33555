// Compiled only where both SwiftUI, which is on Apple's platforms, and the product EventingSwiftUI
// can be imported.
#if canImport(SwiftUI) && canImport(EventingSwiftUI)
  import Eventing
  import EventingSwiftUI
  import SwiftUI

  extension WithSwiftUIGuideTests {
    struct OrdersView: View {
      let shop: Shop
      @State private var count = 0

      var body: some View {
        Text("\(count) orders").onEvent(shop.placed) { order in count += 1 }
      }
    }

    struct VolumeView: View {
      let volume: Observed<Double>

      var body: some View {
        Slider(value: volume.binding)
      }
    }
  }
#endif
