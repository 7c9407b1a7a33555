import Eventing

nonisolated struct Level: Equatable, Sendable { var decibels: Double }

final class Player {
  @Observed var volume = 0.5
}

nonisolated final class Mixer: Sendable {
  let level = Observed(Level(decibels: -6))
}

func observed() async {
  let (player, mixer) = (Player(), Mixer())
  player.$volume.addHandler { volume in Log.shared.write("volume \(volume)") }
  player.$volume.changes().addHandler { change in Log.shared.write("\(change)") }
  player.volume = 0.7
  mixer.level.map(\.decibels).addHandler { decibels in Log.shared.write("\(decibels) dB") }
  mixer.level.update { level in level.decibels += 3 }
  mixer.level.combineLatest(player.$volume).addHandler { level, volume in
    Log.shared.write("\(level.decibels) dB at \(volume)")
  }
  expect(
    Log.shared.take(), ["volume 0.5", "volume 0.7", "0.5 → 0.7", "-6.0 dB", "-3.0 dB", "-3.0 dB at 0.7"])
}
