import Eventing
let e = Event<Int>()
e.addHandler { print($0) }
e.post(1)
print(await e.send(2))
