import Foundation

/// An SVG of throughput and latency over the time of a run. It contains no script and no font. Its
/// colours are legible on light and on dark backgrounds.
struct Plot {
  private struct Point {
    let start, end: Double
    /// The value. Nil if the sample has none.
    let value: Double?
  }

  private struct Curve {
    let name: String
    let color: String
    /// One list of points for each scenario. No line connects two scenarios.
    let parts: [[Point]]
  }

  private static let left = 78.0
  private static let right = 24.0
  private static let width = 1_200.0
  private static let top = 84.0
  private static let gap = 40.0
  private static let panelHeight = 250.0
  private static let grey = "#787878"

  private let contexts: [ScenarioContext]
  private let title: String
  private let subtitle: String
  /// The start of the first scenario.
  private let origin: UInt64
  /// The duration that the plot shows, in seconds.
  private let seconds: Double

  init(_ contexts: [ScenarioContext], _ options: Options) {
    self.contexts = contexts.filter { $0.timeline?.samples.isEmpty == false }
    title = "stress: seed \(options.seed), \(Plot.machine), \(options.tasks) tasks and \(options.threads) threads"
    subtitle =
      "faults: \(options.faults.text). Each step is the mean or the quantile over its width; both scales are logarithmic."
    origin = self.contexts.first?.timeline?.samples.first?.time.start ?? 0
    let end = self.contexts.last?.timeline?.samples.last?.time.end ?? origin + 1
    seconds = Double(end - origin) / 1e9
  }

  var text: String {
    let throughput = panel("operations and deliveries per second", [operations, deliveries], top: Plot.top) {
      Format.count(Int($0))
    }
    let latencies = [latency("p50", "#1f9d55", 0.5), latency("p99", "#d6438a", 0.99)]
    let latency = panel("latency of post", latencies, top: Plot.top + Plot.panelHeight + Plot.gap) {
      Format.time(UInt64($0))
    }
    let bottom = Plot.top + 2 * Plot.panelHeight + Plot.gap
    let height = bottom + 96
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(Plot.width)) \(number(height))" \
      width="\(number(Plot.width))" height="\(number(height))" role="img" \
      font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="12" fill="\(Plot.grey)">
      <title>\(escaped(title))</title>
      <desc>\(escaped(subtitle))</desc>
      \(label(title, Plot.left, 26, "start", "font-size=\"15\" font-weight=\"600\""))
      \(label(subtitle, Plot.left, 44, "start", "font-size=\"11\""))
      \(bands(bottom: bottom))
      \(throughput)
      \(latency)
      \(timeAxis(at: bottom))
      </svg>

      """
  }

  // MARK: The curves

  private var operations: Curve {
    curve("operations", "#2f7fe0") { sample in sample.perSecond(sample.operations) }
  }

  private var deliveries: Curve {
    curve("deliveries", "#d9730d") { sample in sample.perSecond(sample.deliveries) }
  }

  private func latency(_ name: String, _ color: String, _ part: Double) -> Curve {
    curve(name, color) { sample in sample.posting.quantile(part).map { Double($0) } }
  }

  private func curve(_ name: String, _ color: String, _ value: (Timeline.Sample) -> Double?) -> Curve {
    let parts = contexts.map { context in
      (context.timeline?.samples ?? []).map { sample in
        Point(
          start: seconds(at: sample.time.start), end: seconds(at: sample.time.end),
          value: value(sample).flatMap { $0 > 0 ? $0 : nil })
      }
    }
    return Curve(name: name, color: color, parts: parts)
  }

  private func seconds(at time: UInt64) -> Double { Double(time - origin) / 1e9 }

  // MARK: The parts of the drawing

  /// Returns a panel of two curves over a logarithmic scale.
  private func panel(_ name: String, _ curves: [Curve], top: Double, _ format: (Double) -> String) -> String {
    let values = curves.flatMap { $0.parts.flatMap { $0.compactMap(\.value) } }
    let lowest = log10(max(1, values.min() ?? 1)).rounded(.down)
    let highest = max(lowest + 1, log10(max(1, values.max() ?? 1)).rounded(.up))
    let bottom = top + Plot.panelHeight
    func y(_ value: Double) -> Double {
      bottom - (log10(max(1, value)) - lowest) / (highest - lowest) * Plot.panelHeight
    }

    var lines: [String] = []
    for power in stride(from: lowest, through: highest, by: 1) {
      let value = pow(10, power)
      lines.append(line(Plot.left, y(value), Plot.width - Plot.right, y(value), "stroke-opacity=\"0.35\""))
      lines.append(label(format(value).replacing(".0", with: ""), Plot.left - 8, y(value) + 4, "end"))
      guard power < highest, highest - lowest <= 5 else { continue }
      for factor in 2...9 {
        lines.append(line(Plot.left - 4, y(value * Double(factor)), Plot.left, y(value * Double(factor))))
      }
    }
    lines.append(line(Plot.left, top, Plot.left, bottom))
    lines.append(label(name, Plot.left, top - 8, "start", "font-weight=\"600\""))
    lines += curves.map { path($0, y) }
    // The legend, from right to left.
    for (place, curve) in curves.reversed().enumerated() {
      let x = Plot.width - Plot.right - Double(place) * 110
      lines.append(
        "<rect x=\"\(number(x - 96))\" y=\"\(number(top - 17))\" width=\"18\" height=\"8\" fill=\"\(curve.color)\"/>")
      lines.append(label(curve.name, x - 72, top - 8, "start"))
    }
    return lines.joined(separator: "\n")
  }

  /// Returns a curve as steps. Each step is as wide as the time that its sample covers.
  private func path(_ curve: Curve, _ y: (Double) -> Double) -> String {
    var words: [String] = []
    for part in curve.parts {
      var isDrawing = false
      for point in part {
        guard let value = point.value else {
          isDrawing = false
          continue
        }
        words.append((isDrawing ? "V" : "M\(number(x(point.start))) ") + number(y(value)))
        words.append("H" + number(x(point.end)))
        isDrawing = true
      }
    }
    let style = "fill=\"none\" stroke=\"\(curve.color)\" stroke-width=\"1.6\" stroke-linejoin=\"round\""
    return "<path \(style) d=\"\(words.joined())\"><title>\(escaped(curve.name))</title></path>"
  }

  /// Returns a band for the time of each scenario, with the scenario's name below. Every other band
  /// is darker.
  private func bands(bottom: Double) -> String {
    var lines: [String] = []
    let isTight = contexts.contains {
      $0.seconds / seconds * (Plot.width - Plot.left - Plot.right) < 6.6 * Double($0.name.count)
    }
    for (place, context) in contexts.enumerated() {
      guard let first = context.timeline?.samples.first else { continue }
      let begin = seconds(at: first.time.start)
      let (start, end) = (x(begin), x(min(begin + context.seconds, seconds)))
      let size =
        "x=\"\(number(start))\" y=\"\(number(Plot.top))\" width=\"\(number(end - start))\" height=\"\(number(bottom - Plot.top))\""
      let name = escaped("\(context.name): \(Format.fixed(context.seconds, 1)) s, \(context.rounds.value) rounds")
      lines.append("<rect \(size) fill-opacity=\"\(place % 2 == 0 ? "0.16" : "0.04")\"><title>\(name)</title></rect>")
      let middle = (start + end) / 2
      let turn = isTight ? "transform=\"rotate(-40 \(number(middle)) \(number(bottom + 44)))\"" : ""
      lines.append(
        label(
          context.name, middle, bottom + (isTight ? 44 : 54), isTight ? "end" : "middle", turn + " font-size=\"11\""))
    }
    return lines.joined(separator: "\n")
  }

  private func timeAxis(at bottom: Double) -> String {
    var lines = [line(Plot.left, bottom, Plot.width - Plot.right, bottom)]
    let step = Plot.step(seconds / 12)
    let digits = step < 0.1 ? 2 : step < 1 ? 1 : 0
    for time in stride(from: 0, through: seconds, by: step) {
      lines.append(line(x(time), bottom, x(time), bottom + 5))
      lines.append(label(Format.fixed(time, digits), x(time), bottom + 18, "middle"))
    }
    lines.append(label("seconds", Plot.width - Plot.right, bottom + 34, "end", "font-size=\"11\""))
    return lines.joined(separator: "\n")
  }

  private func x(_ time: Double) -> Double {
    Plot.left + time / max(seconds, 1e-9) * (Plot.width - Plot.left - Plot.right)
  }

  /// Returns the least of the numbers 1, 2, 5, 10, 20 and so on that is not less than `least`.
  private static func step(_ least: Double) -> Double {
    let power = pow(10, log10(max(least, 0.001)).rounded(.down))
    return [1, 2, 5].map { $0 * power }.first { $0 >= least } ?? 10 * power
  }

  // MARK: XML

  private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String = "") -> String {
    let ends = "x1=\"\(number(x1))\" y1=\"\(number(y1))\" x2=\"\(number(x2))\" y2=\"\(number(y2))\""
    return "<line \(ends) stroke=\"\(Plot.grey)\" \(style)/>"
  }

  private func label(_ text: String, _ x: Double, _ y: Double, _ anchor: String, _ style: String = "") -> String {
    "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\" \(style)>\(escaped(text))</text>"
  }

  private func number(_ value: Double) -> String { Format.fixed(value, 1) }

  /// Returns a text for an element or an attribute. A question mark replaces each character that
  /// XML forbids.
  private func escaped(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\t", "\n", "\r": result += " "
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}": result += "?"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }

  /// The machine, such as "x86_64 Linux, 2 cores".
  private static var machine: String {
    #if arch(x86_64)
      let processor = "x86_64"
    #elseif arch(arm64)
      let processor = "arm64"
    #else
      let processor = "another processor"
    #endif
    #if os(Linux)
      let system = "Linux"
    #elseif os(macOS)
      let system = "macOS"
    #else
      let system = "another system"
    #endif
    return "\(processor) \(system), \(ProcessInfo.processInfo.activeProcessorCount) cores"
  }
}
