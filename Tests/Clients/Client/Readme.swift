import Eventing

// swift-format-ignore
func readme() async {
  let progress = Event<Double>("progress")
  let bar = progress.addHandler { fraction in print("bar:", fraction) }   // inline: called where the event delivers
  progress.addHandler { fraction async in print("log:", fraction) }       // asynchronous: one call at a time

  progress.post(0.25)                     // calls bar, hands the value to log, and does not wait for it
  await progress.quiesce()                // no call is running any more
  let report = await progress.send(0.5)   // calls bar, then log, and waits for both
  print(report)                           // the second occurrence: what became of its two handlers
  progress.remove(bar)                    // from now on no call of bar begins
  await progress.send(1)

  expect(report.delivered, 2)
}
