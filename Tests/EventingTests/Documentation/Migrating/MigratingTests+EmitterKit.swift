import Eventing
import EventingFoundation
import Foundation
import Observation
import Testing

extension Notification.Name {
  static let shown = Notification.Name("MigratingTests.shown")
  static let login = Notification.Name("MigratingTests.login")
}

extension MigratingTests {
  struct User: Sendable, Equatable { var name = "Ada" }
  typealias Touch = Int
  final class View: Sendable {}

  @Test func listenersAreHandlers() async {
    let didLogin = Event<User>()
    let didLogout = Signal()
    let user = User()
    let calls = Recorder<String>()
    @Sendable func greet(_ user: User) { calls.record(user.name) }

    let greeting = didLogin.addHandler { user in greet(user) }
    didLogin.once { user in greet(user) }
    didLogout.addHandler { calls.record("out") }
    didLogin.post(user)
    await didLogin.send(user)
    didLogout.post()
    #expect(calls.values == ["Ada", "Ada", "Ada", "out"])

    didLogin.lock(greeting)
    let isListening = didLogin.contains(greeting) && !didLogin.isLocked(greeting)
    #expect(!isListening)
    didLogin.post(user)
    didLogin.unlock(greeting)
    #expect(calls.count == 4)

    let snapshot = await didLogin.handlers().first { $0.id == greeting.id }
    #expect(snapshot?.isOnce == false && snapshot?.hasOwner == false)
    let all = await didLogin.handlers()
    let count = didLogin.handlerCount
    #expect(all.count == 1 && count == 1)

    didLogin.remove(greeting)
    didLogin.post(user)
    #expect(calls.count == 4)
  }

  @Test func listenersEndWithTheirBagOrScope() async {
    let didLogin = Event<User>()
    let calls = Recorder<String>()
    @Sendable func greet(_ user: User) { calls.record(user.name) }
    func work() async { didLogin.post(User(name: "Grace")) }

    let listeners = HandlerBag()
    didLogin.addHandler { user in greet(user) }.store(in: listeners)
    didLogin.post(User())
    listeners.removeAll()
    didLogin.post(User())
    #expect(calls.values == ["Ada"])

    await didLogin.withHandler(Handler { user in greet(user) }) { await work() }
    didLogin.post(User())
    #expect(calls.values == ["Ada", "Grace"])
  }

  @Test func aUsedOnceHandlerIsAddedAgain() {
    let didLogin = Event<User>()
    let calls = Recorder<String>()
    @Sendable func greet(_ user: User) { calls.record(user.name) }
    let welcome = Handler<User>(.once) { user in greet(user) }
    didLogin.add(welcome)
    didLogin.post(User())
    didLogin.post(User())
    #expect(calls.count == 1)
    didLogin.add(welcome)
    didLogin.post(User())
    #expect(calls.count == 2)
  }

  @Test func targetsAreKeys() {
    let didTouch = KeyedEvent<ObjectKey, Touch>()
    let (view, other, touch) = (View(), View(), 7)
    let calls = Recorder<String>()
    do {
      @Sendable func show(_ touch: Touch) { calls.record("here") }
      didTouch[view].addHandler { touch in show(touch) }
      didTouch[view].once { touch in show(touch) }
    }
    do {
      @Sendable func show(_ touch: Touch) { calls.record("nowhere") }
      didTouch.untargeted.addHandler { touch in show(touch) }
    }
    do {
      @Sendable func show(_ touch: Touch) { calls.record("anywhere") }
      didTouch.anyKey.addHandler { _, touch in show(touch) }
    }

    didTouch.post(touch, to: view)
    #expect(calls.values == ["here", "here", "anywhere"])
    calls.removeAll()
    didTouch.post(touch, to: [view, other].map(ObjectKey.init))
    #expect(calls.values == ["here", "anywhere", "anywhere"])
    calls.removeAll()
    didTouch.untargeted.post(touch)
    #expect(calls.values == ["nowhere"])
  }

  @Test func aTargetMayBeAString() async {
    let didLoad = KeyedEvent<String, Int>()
    didLoad["logo"].once { size in print(size) }
    #expect(await didLoad.send(1, to: "photo").reachedNobody)
    #expect(await didLoad.send(1, to: "logo").delivered == 1)
  }

  @Test func notificationsComeIn() {
    let window = View()
    let calls = Recorder<String>()
    let shown = Event(notifications: .shown)
    let shownHere = Event(notifications: .shown, object: window)
    do {
      @Sendable func show(_ note: PostedNotification) { calls.record(note.name.rawValue) }
      shown.addHandler { note in show(note) }
      shown.once { note in show(note) }
    }
    shownHere.addHandler { _ in calls.record("here") }

    NotificationCenter.default.post(name: .shown, object: nil)
    #expect(calls.values == ["MigratingTests.shown", "MigratingTests.shown"])
    NotificationCenter.default.post(name: .shown, object: window)
    #expect(calls.count == 4)
  }

  @Test func notificationsGoOut() {
    let didLogin = Event<User>()
    let window = View()
    let calls = Recorder<String>()
    let seen = Event(notifications: .login)
    seen.addHandler { note in calls.record("\(note.userInfo?["name"] as? String ?? "–") \(note.object is View)") }

    didLogin.forward(to: .default, as: .login) { user in ["name": user.name] }
    didLogin.forward(to: .default, as: .login, object: window) { user in ["name": user.name] }
    didLogin.post(User())
    #expect(calls.values == ["Ada false", "Ada true"])
  }

  final class Player {
    @Observed var volume = 0.5
  }

  final class Mixer: Sendable {
    let gain = Observed(0.5)
  }

  @Test func propertiesTellTheirChanges() {
    let player = Player()
    let mixer = Mixer()
    let listeners = HandlerBag()
    let calls = Recorder<[Double?]>()
    @Sendable func note(_ old: Double?, _ new: Double?) { calls.record([old, new]) }

    player.$volume.changes().addHandler { change in note(change.old, change.new) }
    player.$volume.changes().once { change in note(change.old, change.new) }
    player.volume = 0.7
    player.volume = 0.8
    #expect(calls.values == [[0.5, 0.7], [0.5, 0.7], [0.7, 0.8]])

    calls.removeAll()
    mixer.gain.changes().addHandler { change in note(change.old, change.new) }.store(in: listeners)
    mixer.gain.value = 0.6
    listeners.removeAll()
    mixer.gain.value = 0.5
    #expect(calls.values == [[0.5, 0.6]])
  }

  @Test func optionsSelectWhatAChangeHas() {
    let player = Player()
    let calls = Recorder<[Double?]>()
    @Sendable func note(_ old: Double?, _ new: Double?) { calls.record([old, new]) }
    player.$volume.changes(initial: true, prior: true).addHandler { change in note(change.old, change.new) }
    player.volume = 0.7
    #expect(calls.values == [[nil, 0.5], [0.5, 0.7], [0.5, 0.7]])
  }

  @MainActor @Observable final class Model { var items = [1] }

  @Test func observableObjectsAreObserved() async {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let (model, counts) = (await Model(), Recorder<Int>())
    let items = Event(observing: { @MainActor in model.items.count })
    items.addHandler { count in counts.record(count) }
    await MainActor.run { model.items.append(2) }
    #expect(await eventually { counts.values.last == 2 })
  }

  actor Counter {
    var logins = 0
    func count(_ user: User) { logins += 1 }
  }

  @Test func aMethodOfAnActorIsCalledOnIt() async {
    let (didLogin, counter) = (Event<User>(), Counter())
    didLogin.addHandler(isolatedTo: counter) { counter, user in counter.count(user) }
    await didLogin.send(User())
    #expect(await counter.logins == 1)
  }

  #if canImport(ObjectiveC)
    final class Window: NSObject {
      @objc dynamic var width = 1
    }

    @Test func objectiveCPropertiesTellTheirChanges() {
      let window = Window()
      let calls = Recorder<Int?>()
      let resized = Event(observing: window, \.width)
      resized.addHandler { change in calls.record(change.new) }
      window.width = 2
      #expect(calls.values == [2])
    }
  #endif
}
