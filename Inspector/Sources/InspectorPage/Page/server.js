// Communicates with the inspector: reads the stream of server-sent events, and sends requests. The token is in the fragment of the
// page's address, which browsers send to no server. The script sends it as a header. An EventSource cannot send headers, so the
// stream is read with fetch.

const headers = () => ({ Authorization: `Bearer ${location.hash.slice(1)}` });
const wait = (milliseconds) => new Promise((resume) => setTimeout(resume, milliseconds));

/** Reads the stream for ever, and reconnects when it ends. */
export async function listen(listener) {
  addEventListener("hashchange", () => location.reload());
  for (;;) {
    let reason = "the inspector has ended";
    try {
      const answer = await fetch("stream", { headers: headers(), cache: "no-store" });
      if (answer.status === 401) reason = "this address has no valid token: open the one that the inspector printed";
      else if (!answer.ok) reason = `the inspector answered ${answer.status}`;
      else await read(answer.body, listener);
    } catch { /* The connection was lost; `reason` says so already. */ }
    listener.lost(reason);
    await wait(1000);
  }
}

async function read(body, listener) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    // The rest of the previous chunk has no complete message, but it may end with a part of the separator.
    const messages = (rest + value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) handle(message, listener);
  }
}

function handle(message, listener) {
  let [name, text] = ["", ""];
  for (const line of message.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) text += line.slice(6);
  }
  if (!["link", "update", "history"].includes(name)) return;
  try { listener[name](JSON.parse(text)); } catch (error) { console.error(`a message of the app cannot be read: ${error}`); }
}

/** Sends a request, and returns its answer. Throws an error whose message is a sentence. */
export async function post(path, keys) {
  const answer = await fetch(path, { method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(keys) });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ?? `The inspector answered ${answer.status}.`);
  return body;
}
