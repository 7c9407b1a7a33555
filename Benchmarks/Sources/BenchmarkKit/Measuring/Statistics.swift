/// Returns the interpolated quantile of a sample, or NaN if the sample is empty.
func quantile(_ sample: [Double], _ fraction: Double) -> Double {
  guard !sample.isEmpty else { return .nan }
  let sorted = sample.sorted(), position = fraction * Double(sorted.count - 1)
  let low = Int(position), high = min(low + 1, sorted.count - 1)
  return sorted[low] + (sorted[high] - sorted[low]) * (position - Double(low))
}

func median(_ sample: [Double]) -> Double { quantile(sample, 0.5) }
