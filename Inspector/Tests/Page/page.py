#!/usr/bin/env python3
"""Checks the inspector's page in a headless Chromium. The inspected app is a fake one that this script controls; afterwards, it is
a program that links EventingInspection, with faults on demand.

  page.py PROGRAMS SHOP PICTURES    PROGRAMS: the folder with inspector and fake-app; SHOP: the program watched-shop;
                                    PICTURES: the folder for screenshots

Ends with 1 if a check fails. Ends every process that it started.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from chromium import Chromium

programs, shop, pictures = sys.argv[1:4]
os.makedirs(pictures, exist_ok=True)
folder = tempfile.mkdtemp(prefix="inspector-page-")
socket = f"{folder}/app.sock"
started = []


def start(*command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    started.append(process)
    return process, process.stdout.readline().strip()


def start_app():
    app, line = start(f"{programs}/fake-app", socket)
    assert line.startswith("listens"), line
    return app


def script(app, line):
    app.stdin.write(line + "\n")
    app.stdin.flush()
    assert app.stdout.readline().strip() == f"did {line}"


def stop(process):
    started.remove(process)
    # SIGTERM lets the inspector and the app remove their files. A killed app would leave its socket.
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"expected {process.args[0]} to end on SIGTERM")
    process.stdin.close()
    process.stdout.close()


checked = 0


def check(condition, what):
    global checked
    checked += 1
    if not condition:
        raise AssertionError(what)


def text(selector):
    return f"(document.querySelector({selector!r})?.textContent ?? '')"


def row(name, rest=""):
    """Returns a JavaScript expression for the row of an event."""
    return f"[...document.querySelectorAll('#event-table tbody tr')].find((row) => row.querySelector('.name-text').textContent === {name!r}){rest}"


def nothing_is_wider(page, width, where):
    wide = page.value(f"document.documentElement.scrollWidth > {width} && document.documentElement.scrollWidth")
    check(not wide, f"expected {where} to fit {width} pixels, got {wide}")


def nameless(page):
    """Returns the roles of the elements that a screen reader can reach, but that have no name."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "link", "textbox", "searchbox", "combobox", "checkbox", "tab", "table", "columnheader", "tabpanel", "image"}
    return [node["role"]["value"] for node in nodes
            if not node.get("ignored") and node.get("role", {}).get("value") in roles and not node.get("name", {}).get("value")]


def events(page, app):
    page.until("document.querySelectorAll('#event-table tbody tr').length === 8", "a row for each event")
    page.until(f"document.body.className === 'live' && {text('#program')} === 'shop'", "a living app")
    page.until(f"Number({row('log lines', '.children[1].textContent.replaceAll(/,/g, String())')}) > 1000", "a rate")
    page.until(f"{row('log lines', '.querySelector(`path.line`).getAttribute(`d`)')}.length > 200", "a line of two minutes")
    page.value(f"{row('orders placed')}.querySelector('button').click()")
    page.until("document.querySelectorAll('#detail tbody tr').length === 3", "the handlers of the event")
    check("Shop/Checkout.swift:41" in page.value(text("#detail tbody")), "expected the handler's line")
    head = "document.querySelector('#event-table th[data-key=sequence] button')"
    page.value(f"{head}.click()")
    check(page.value(f"{head}.parentElement.getAttribute('aria-sort')") == "descending", "expected a sorted column")
    page.until("document.querySelector('#event-table .name-text').textContent === 'log lines'", "the largest first")
    page.value("document.querySelector('#event-table th[data-key=name] button').click()")
    page.value("document.activeElement.blur()")
    page.key("/", "Slash", "/")
    check(page.value("document.activeElement.id") == "search", "expected / to lead to the search")
    page.call("Input.insertText", text="warehouse")
    page.until("document.querySelectorAll('#event-table tbody tr').length === 1", "one event with that handler")
    page.key("Escape")
    page.until("document.querySelectorAll('#event-table tbody tr').length === 8", "all events again")


def stuck(page, app):
    """Checks that a stuck handler is shown within 2 s. A busy machine may delay this, so there are three attempts."""
    times = []
    for _ in range(3):
        begin = time.monotonic()
        script(app, "stick")
        page.until("[...document.querySelectorAll('#warning-list li.bad .code')].some((code) => code.textContent === 'stuck')", "a stuck handler")
        times.append(time.monotonic() - begin)
        if times[-1] < 2:
            break
        script(app, "free")
        page.until("document.querySelector('#warning-list li.calm')", "no warning")
    print(f"a stuck handler was shown after {times[-1]:.2f} s")
    check(times[-1] < 2, f"expected a stuck handler within 2 s, got {times}")
    check(page.value(f"{row('payments')}.classList.contains('bad')"), "expected the event to be marked")
    page.until("document.querySelector('#event-table .name-text').textContent === 'payments'", "the event with a warning first")
    page.value("document.querySelector('#warning-list button').click()")
    page.until(f"{text('#detail h2')} === 'payments' && {text('#detail tr.bad')}.includes('receipt')", "the stuck handler")
    page.until("document.querySelector('#detail td[data-key=runningAt] .alarm')", "how long it runs")
    page.until("document.querySelector('#detail tbody tr').classList.contains('bad')", "the stuck handler first")
    check("has not returned" in page.value(text("#warning-list .text")), "expected a text without a second duration")
    # The page draws both at the same moment.
    times = page.value("[document.querySelector('#warning-list .age').textContent, document.querySelector('#detail tr.bad td[data-key=runningAt] .alarm').textContent]")
    check(times[0] == times[1], f"expected one duration for one call, got {times}")
    for each in ("drop", "flood", "defer"):
        script(app, each)
    page.until("['dropping', 'flood', 'backlog', 'deferred'].every((code) => [...document.querySelectorAll('#warning-list .code')].some((each) => each.textContent === code))", "all warnings")


def views(page, app):
    page.value("document.getElementById('tab-graph').click()")
    page.until("document.querySelectorAll('#graph path.edge').length === 10", "the edges")
    page.until("new Set([...document.querySelectorAll('#graph path.edge')].map((edge) => edge.getAttribute('stroke-width'))).size > 2", "widths by rate")
    page.picture(f"{pictures}/graph-light.png")
    page.value("document.getElementById('tab-graph').focus()")
    page.key("ArrowRight")
    check(page.value("document.activeElement.id") == "tab-waits", "expected the arrow keys to change tabs")
    page.until("document.querySelectorAll('#waits tbody tr').length === 2", "the waits")
    check("charge the card waits for this itself" in page.value(text("#waits tr.bad")), "expected the deferred wait")
    page.picture(f"{pictures}/waits-light.png")
    page.value("document.getElementById('tab-timeline').click()")
    page.value("document.querySelector('#timeline select').value = '1'")
    # Notes the requests of the page.
    page.value("window.sent = []; window.realFetch = fetch; window.fetch = (path, more) => { sent.push([path, more.body]); return realFetch(path, more); }; 0")
    page.value("document.getElementById('record').click()")
    page.until(f"/occurrences, [1-9]/.test({text('#timeline [role=status]')})", "a trace")
    seconds = page.value("JSON.parse(sent.find(([path]) => path === 'trace/start')[1]).seconds")
    check(seconds == 1, f"expected the inspector to know how long the trace lasts, got {seconds}")
    page.value("window.fetch = realFetch; 0")
    page.until("(() => { const c = document.querySelector('canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return d.some((byte) => byte > 0); })()", "a picture")
    page.value("document.querySelector('canvas').focus()")
    page.key("n", "KeyN", "n")
    page.until(f"{text('#span')}.includes(' on ')", "the words for a bar")
    for _ in range(9):
        if "<b>number " in page.value(text("#span")):
            break
        page.key("n", "KeyN", "n")
    check("<b>number " in page.value(text("#span")), "expected an occurrence with its payload as text")
    page.picture(f"{pictures}/timeline-light.png")
    page.scheme("dark")
    page.until("true", "")
    page.picture(f"{pictures}/timeline-dark.png")
    page.scheme("light")
    page.value("document.getElementById('tab-events').click()")


def looks(page, app):
    for name in ("light", "dark"):
        page.scheme(name)
        page.picture(f"{pictures}/events-{name}.png")
    check(nameless(page) == [], f"expected names for a screen reader, got {nameless(page)}")
    page.size(400, 860, 2, True)
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        page.value("scrollTo(0, 0)")
        page.picture(f"{pictures}/phone-{scheme}.png")
    page.value("document.getElementById('detail').scrollIntoView()")
    page.picture(f"{pictures}/phone-detail.png")
    page.scheme("light")
    for view in ("graph", "waits", "remote", "timeline", "events"):
        page.value(f"document.getElementById('tab-{view}').click()")
        nothing_is_wider(page, 400, view)
        page.value("scrollTo(0, 0)")
        page.picture(f"{pictures}/phone-{view}.png")
        check(nameless(page) == [], f"expected names for a screen reader in {view}, got {nameless(page)}")
    page.size(1440, 900)


def hostile(page, app):
    script(app, "hostile")
    page.until(row("<script>window.hacked = 1</script>", "!== undefined"), "a hostile name as text")
    page.value(f"{row('<script>window.hacked = 1</script>')}.querySelector('button').click()")
    page.until(f"{text('#detail tbody')}.includes('</td><script>window.hacked = 4')", "a hostile handler as text")
    check("<script>window.hacked = 7</script> & more" in page.value(text("#warning-list")), "expected a hostile warning as text")
    for view in ("graph", "waits", "remote", "timeline", "events"):
        page.value(f"document.getElementById('tab-{view}').click()")
        time.sleep(0.3)
    check("<i>label</i>" in page.value(text("#graph")), "expected a hostile edge as text")
    made = page.value("document.querySelectorAll('script:not([src=\"app.js\"]), img, b, i i, u, [onload], [onerror], [onmouseover], iframe').length")
    check(made == 0, f"expected no element made of a name, got {made}")
    check(page.value("typeof window.hacked") == "undefined", "a name was run as script")
    page.picture(f"{pictures}/hostile.png")
    page.size(400, 860, 2, True)
    nothing_is_wider(page, 400, "hostile names")
    page.size(1440, 900)


def control(page, app):
    page.value(f"{row('basket')}.querySelector('button').click()")
    page.until(f"{text('#detail h2')} === 'basket'", "the event")
    page.value("document.querySelector('#detail > .locks button').click()")
    page.until(f"{row('basket')}.textContent.includes('locked')", "a locked event")
    page.until(f"{text('#detail > .locks')} === 'Unlock'", "a way back")
    page.value("document.querySelector('#detail > .locks button').click()")
    page.until(f"!{row('basket')}.textContent.includes('locked')", "an unlocked event")


def remote(page, app):
    page.value("document.getElementById('tab-remote').click()")
    page.until("document.querySelectorAll('#remote section').length === 2", "two tables")
    check(page.value(text("#tab-remote .count")) == "2", "expected the number of bad rows at the tab")
    check("the first 100 of 1,207" in page.value(text("#remote section:last-of-type h2")), "expected how many letters are not shown")
    check("1204" in page.value(text("#remote tbody tr.bad")), "expected the cause with the most letters first")
    page.picture(f"{pictures}/remote-light.png")
    button = "document.querySelector('#remote tbody tr button')"
    page.value(f"{button}.click()")
    page.until(f"{button}.textContent === 'Sure?'", "a question")
    page.value(f"{button}.click()")
    time.sleep(0.6)
    check(page.value("document.querySelector('#remote section tbody').children.length") == 2, "expected nothing to be sent by a double click")
    page.value(f"{button}.click()")
    page.until(f"{text('#remote [role=status]')} === 'Send again: done for 1'", "an answer")
    page.until("document.querySelector('#remote section tbody').children.length === 1", "one cause less")
    page.value("document.getElementById('tab-events').click()")


def return_of_the_app(page, app):
    stop(app)
    page.until("document.body.className.includes('stale')", "a page that says that the app has ended")
    check(page.value("document.querySelectorAll('#event-table tbody tr').length") > 8, "expected what the app said last")
    page.picture(f"{pictures}/ended.png")
    app = start_app()
    page.until("document.body.className === 'live'", "the app again")
    page.until("document.querySelectorAll('#event-table tbody tr').length === 8", "its events")
    page.until("document.querySelector('#warning-list li.calm')", "none of its former warnings")
    return app


def thousand(page, app):
    script(app, "many")
    page.until(f"{text('#totals dd')} === '1,008'", "a thousand events")
    check(page.value("document.querySelectorAll('#event-table tbody tr').length") == 200, "expected 200 rows at first")
    page.value("document.querySelector('#event-table .more').click()")
    page.until("document.querySelectorAll('#event-table tbody tr').length === 1000", "more rows")
    before = page.call("Performance.getMetrics")["metrics"]
    time.sleep(3)
    after = page.call("Performance.getMetrics")["metrics"]
    busy = [next(each["value"] for each in metrics if each["name"] == "TaskDuration") for metrics in (before, after)]
    print(f"1,000 events of which 58 change: the page is busy for {(busy[1] - busy[0]) / 3:.0%} of the time")
    page.picture(f"{pictures}/thousand.png")


def falling_count(page):
    """Checks the rate of an edge whose count falls, which happens if one of several forwards on the edge is removed."""
    for phase in (0, 0.5, 0.95):  # where in a second of the clock the updates begin
        def rates(name, counts):
            """Sends an update for each pair of a time in seconds and a count, and returns the rate after each."""
            return page.value("""import('./model.js').then(({ model, update, edgeRateOf }) => {
              const edge = { from: 'event:1', to: 'event:2', kind: 'forward', label: 'NAME PHASE' };
              const [start, key] = [(Math.ceil(model.time / 1e9) + 10 + PHASE) * 1e9, JSON.stringify(Object.values(edge))];
              return COUNTS.map(([seconds, count], index) => {
                update({ n: -index - 1, t: start + seconds * 1e9, whole: false, parts: { graph: [{ ...edge, count }] }, gone: {} });
                return Math.round(edgeRateOf(key));
              });
            })""".replace("PHASE", str(phase)).replace("NAME", name).replace("COUNTS", json.dumps(counts)))
        once = rates("falls once", [(0, 1000), (1, 1100), (2, 1200), (2.1, 300), (2.6, 350)])
        # 100 in the second and 0.1 s before; then 150 in 1.6 s
        check(once == [0, 100, 100, 91, 94], f"expected the increases before the count fell, got {once} with phase {phase}")
        often = rates("falls often", [(n / 10, 1000 * n if n <= 20 else 20_000 - 100 * (n - 20)) for n in range(41)])
        check(often[20] == 10_000 and often[25] == 5_000 and not any(often[30:]),
              f"expected no rate a second after the last increase, got {often} with phase {phase}")
        late = rates("falls late", [(0, 0), (0.5, 50), (1.7, 30), (1.8, 30)])
        check(late[2:] == [0, 0], f"expected no rate from a fall without increases, got {late} with phase {phase}")


def updates(page):
    """Checks what updates leave of the rows: a summary comes between the lines of one update, and an event goes and comes back."""
    kept = page.value("""import('./model.js').then(({ model, update }) => {
      const event = (id) => ({ id, sequence: 0, waiting: 0, handlers: 0 });
      const send = (n, whole, ids, more = {}) => update({ n, t: model.time + 1, whole, parts: { events: ids.map(event) }, gone: {}, ...more });
      const result = [];
      send(1e6, true, [-1]);
      send(0, true, [-1, -2], { upTo: 1e6 });
      send(1e6, true, [-3]);
      result.push([...model.events.keys()].sort());
      send(1e6 + 1, true, [-4]);
      result.push([...model.events.keys()]);
      // What went and came back since the last update is in both.
      model.meters.get(-4).kept = true;
      send(1e6 + 2, false, [-4], { gone: { events: [-4] } });
      result.push([...model.events.keys()], model.meters.has(-4), model.meters.get(-4)?.kept ?? null);
      // The meters of events that a whole update does not name go when the next update begins.
      for (let id = 5; id < 50; id += 1) send(1e6 + id, true, [-id]);
      send(1e6 + 50, false, []);
      result.push([...model.meters.keys()]);
      return result;
    })""")
    check(kept == [[-1, -2, -3], [-4], [-4], True, None, [-49]], f"expected the rows of each update, got {kept}")


def warned(code):
    return f"[...document.querySelectorAll('#warning-list .code')].some((each) => each.textContent === {code!r})"


def watched(page):
    """Checks that each fault of a real program is on the page in time. Saves the pictures of the documentation."""
    app, line = start(shop, f"{folder}/shop.sock")
    assert line.startswith("listens"), line
    inspector, url = start(f"{programs}/inspector", f"{folder}/shop.sock")
    page.call("Page.navigate", url=url)
    page.until(row("orders placed", " !== undefined"), "the events of a program")
    page.until(f"Number({row('orders placed', '.children[1].textContent.replaceAll(/,/g, String())')}) > 20", "the rate of a program")
    time.sleep(float(os.environ.get("TRADE_SECONDS", "0")))  # for a longer history in the pictures
    begin = time.monotonic()
    script(app, "stick")
    page.until(warned("stuck"), "a stuck handler")
    print(f"a handler of a program that hangs was shown after {time.monotonic() - begin:.2f} s")
    check(time.monotonic() - begin < 10, "expected a stuck handler within some seconds, on a busy machine, too")
    for fault, code in [("drop", "dropping"), ("defer", "deferred")]:
        script(app, fault)
        page.until(warned(code), code)
    for name in ("light", "dark"):
        page.scheme(name)
        page.picture(f"{pictures}/shop-{name}.png")
    page.scheme("light")
    page.value(f"{row('payments')}.querySelector('button').click()")
    page.until(f"{text('#detail tbody')}.includes('WatchedShop') || {text('#detail tbody')}.includes('watched_shop')", "the handler's file and line")
    page.picture(f"{pictures}/shop-detail.png")
    page.value("document.getElementById('tab-graph').click()")
    page.until(f"{text('#graph')}.includes('warehouse') && {text('#graph')}.includes('log lines')", "the shared lane and the forward")
    page.picture(f"{pictures}/shop-graph.png")
    page.value("document.getElementById('tab-waits').click()")
    page.until(f"{text('#waits')}.includes('print the receipt')", "a send that waits for the handler that hangs")
    page.picture(f"{pictures}/shop-waits.png")
    trace = f"{folder}/shop.json"
    command = [f"{programs}/inspector", "trace", f"{folder}/shop.sock", "-s", "1", "-o", trace]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check(made.returncode == 0, f"expected a trace, got {made.stdout}{made.stderr}")
    checker = os.path.join(os.path.dirname(__file__), "../../../.ci/check-trace")
    made = subprocess.run([sys.executable, checker, trace], capture_output=True, text=True, timeout=60)
    check(made.returncode == 0, f"expected a trace that obeys its format, got {made.stdout}{made.stderr}")
    print(f"a trace of the program: {made.stdout.strip()}")
    page.value("document.getElementById('tab-timeline').click()")
    page.value("document.getElementById('record').click()")
    page.until(f"/occurrences, [1-9]/.test({text('#timeline [role=status]')})", "a trace of the program")
    page.picture(f"{pictures}/shop-timeline.png")
    page.value("document.getElementById('tab-events').click()")
    script(app, "free")
    script(app, "flood")
    page.until(warned("flood"), "a flood")
    stop(inspector)
    stop(app)


def main():
    app = start_app()
    inspector, url = start(f"{programs}/inspector", socket, "--control")
    browser = next(path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path)
    page = Chromium(browser)
    try:
        page.call("Performance.enable")
        page.size(1440, 900)
        page.scheme("light")
        page.call("Page.navigate", url=url)
        events(page, app)
        stuck(page, app)
        views(page, app)
        looks(page, app)
        remote(page, app)
        hostile(page, app)
        control(page, app)
        app = return_of_the_app(page, app)
        thousand(page, app)
        falling_count(page)
        updates(page)
        page.call("Page.navigate", url="about:blank")
        page.until("location.href === 'about:blank'", "a page that was left")
        page.call("Page.navigate", url=url.split("#")[0] + "#0123")
        page.until(f"{text('#status-text')}.includes('no valid token')", "a page without data for a wrong token")
        check(page.value("document.querySelectorAll('#event-table tbody tr').length") == 0, "expected no data without the token")
        watched(page)
        # Each request without the token is refused with 401, which the browser logs.
        complaints = [each for each in page.complaints if "401" not in each and "ERR_INCOMPLETE_CHUNKED" not in each]
        check(complaints == [], f"the browser complains: {complaints}")
    except BaseException:
        page.picture(f"{pictures}/failed.png")
        print("complaints:", page.complaints)
        raise
    finally:
        page.end()
        for process in list(started):
            stop(process)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"the page passed {checked} checks; pictures are in {pictures}")


main()
