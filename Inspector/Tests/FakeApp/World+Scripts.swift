// Scripts of the fake app. Each method changes what the app shows from then on.

extension World {
  /// Returns a shop whose events have no warnings.
  public static func shop() -> World {
    var world = World()
    world.event(1, "orders placed", "Order", rate: 42)
    world.event(2, "payments", "Payment", rate: 38)
    world.event(3, "stock levels", "Stock", rate: 310, kind: "keyed")
    world.event(4, "basket", "Basket", rate: 7, kind: "observed")
    world.event(5, "price of", "PriceRequest", rate: 120, kind: "question")
    world.event(6, "shipments", "Shipment", rate: 4)
    world.event(7, "log lines", "LogLine", rate: 2_400)
    world.event(8, nil, "HandlerFailure", rate: 0, of: 2)
    world.handler(1, of: 1, "charge the card", "Shop/Checkout.swift", 41, delivery: "queue", lane: 1, p50: 2_400_000)
    world.handler(2, of: 1, "reserve stock", "Shop/Warehouse.swift", 88, p50: 41_000)
    world.handler(3, of: 1, nil, "Shop/Audit.swift", 12, delivery: "async", lane: 2, p50: 310_000)
    world.handler(4, of: 2, "receipt", "Shop/Mail.swift", 30, delivery: "async", lane: 3, p50: 8_200_000)
    world.handler(5, of: 2, "book", "Shop/Ledger.swift", 19, delivery: "queue", lane: 1, p50: 90_000)
    world.handler(6, of: 3, "shelf display", "Shop/Shelf.swift", 7, delivery: "main", lane: 4, p50: 120_000)
    world.handler(7, of: 4, "basket view", "Shop/BasketView.swift", 55, delivery: "main", lane: 4, p50: 900_000)
    world.handler(8, of: 5, "price list", "Shop/Prices.swift", 23, p50: 4_000)
    world.handler(9, of: 6, "tell the customer", "Shop/Mail.swift", 71, delivery: "async", lane: 3)
    world.handler(10, of: 7, "write the log", "Shop/Log.swift", 9, delivery: "queue", lane: 5, p50: 15_000)
    world.edge("event:1", "event:2", "forward")
    world.edge("event:2", "event:6", "forward")
    world.edge("event:1", "bus:1", "bus", label: "shop")
    world.edge("bus:1", "event:7", "bus", label: "shop", count: nil)
    world.edge("event:3", "event:4", "key", label: "basket-17")
    world.edge("handler:1", "lane:1", "lane", label: "checkout", count: nil)
    world.edge("handler:5", "lane:1", "lane", label: "checkout", count: nil)
    world.edge("event:6", "out:notifications", "bridge")
    world.table(
      1, "Causes of dead letters on dead.orders", ["Letters", "Message subject", "Group", "Handler", "Reason"],
      [
        ["1204", "orders.placed", "billing", "charge the card", "unknown customer"],
        ["3", "orders.placed", "billing", "charge the card", "declined"],
      ])
    world.table(
      2, "Dead letters on dead.orders", ["Message", "Message subject", "Reason"],
      (1...100).map { ["order-\($0)", "orders.placed", "unknown customer"] }, count: 1_207)
    return world
  }

  /// Begins a call of a handler. The call returns only when `free` is called.
  public mutating func stick(_ handler: Int = 4) {
    stuck[handler] = time
    handlers[handler]?.add(1, to: "calls")
    handlers[handler]?["running"] = 1
    handlers[handler]?["runningAt"] = .int(time)
  }

  /// Lets the call of the handler return, and removes its warning and the waiting occurrences.
  public mutating func free(_ handler: Int = 4) {
    stuck[handler] = nil
    warnings[1_000 + handler] = nil
    handlers[handler]?.add(1, to: "ended")
    handlers[handler]?["running"] = 0
    handlers[handler]?["runningAt"] = Value.null
    handlers[handler]?["waiting"] = 0
  }

  /// Lets a full lane drop occurrences, with a warning.
  public mutating func drop() {
    handlers[10]?["dropped"] = 8_121
    handlers[10]?["waiting"] = 512
    warn(
      1, "dropping", event: 7, handler: 10, since: time, count: 8_121, limit: 512,
      "write the log has dropped 8,121 occurrences of log lines; its lane holds 512.")
  }

  /// Lets posts come faster than they are delivered, with warnings.
  public mutating func flood() {
    rates[3] = 190_000
    events[3]?["waiting"] = 66_304
    warn(
      2, "flood", event: 3, since: time, count: 66_304, limit: 65_536,
      "Posts to stock levels are being slowed: 66,304 wait.")
    warn(
      3, "backlog", event: 3, since: time, count: 66_304, limit: 1_024,
      "66,304 occurrences wait for stock levels, and more than a second ago.")
  }

  /// Lets a send defer a handler that waits for it, with a warning.
  public mutating func deferWait() {
    waits[1] = [
      "id": 1, "kind": "send", "event": 2, "sequence": 117, "handlers": [4, 5], "waitsFor": 2, "by": 1,
      "sinceAt": .int(time), "deferred": [1],
    ]
    waits[2] = [
      "id": 2, "kind": "quiesce", "event": 1, "sequence": nil, "handlers": [1], "waitsFor": 1, "by": nil,
      "sinceAt": .int(time - 2_300_000_000), "deferred": [],
    ]
    warn(
      4, "deferred", event: 2, handler: 1, since: time,
      "A deadlock was avoided: a send of \"payments\" from a call of \"charge the card\" does not wait for "
        + "\"charge the card\", which waits for it.")
  }

  /// Adds rows whose names contain HTML, scripts and control characters.
  public mutating func hostile() {
    event(90, "<script>window.hacked = 1</script>", "<img src=x onerror=window.hacked=2>", rate: 3)
    event(91, "\"><svg onload=window.hacked=3>", "a\u{2028}b\u{202e}c\u{0}d\n\ndata: {}\u{1b}[2J", rate: 2)
    event(92, "__proto__", "constructor", rate: 1)
    event(93, String(repeating: "long ", count: 50) + "…", "A<B<C<D>>>", rate: 1)
    handler(90, of: 90, "</td><script>window.hacked = 4</script>", "\"onmouseover=window.hacked=5 x=\"", 1)
    edge("event:90", "out:<script>window.hacked=6</script>", "<b>", label: "<i>label</i>")
    edge("event:90", "event:90", "forward", label: "itself")
    warn(90, "<u>new</u>", event: 90, handler: 90, since: time, "<script>window.hacked = 7</script> & more")
    waits[90] = [
      "id": 90, "kind": "<b>", "event": 90, "sequence": 1, "handlers": [90], "waitsFor": 1, "by": 90,
      "sinceAt": .int(time), "deferred": [],
    ]
    table(
      90, "<script>window.hacked = 8</script>", ["<i>column</i>", "Reason"],
      [["<img src=x onerror=window.hacked=9>", String(repeating: "long", count: 60)]])
  }

  /// Adds a thousand events with ten handlers each. Only 48 of the events have occurrences.
  public mutating func many() {
    for id in 1_000..<2_000 {
      event(id, "event \(id)", "Payload\(id % 17)", rate: id % 20 == 0 ? Double(id % 400) : 0)
      for each in 0..<10 { handler(id * 10 + each, of: id, "handler \(each)", "Many/File.swift", each) }
    }
  }
}
