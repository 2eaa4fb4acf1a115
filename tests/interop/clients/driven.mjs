// What the JavaScript clients have in common: orders come in on stdin, one JSON object a line, and what happens goes
// out on stdout the same way, with the time. `drive.py` gives the orders and judges the events.
//
//   {"do": "connect"}                          -> {"event": "connected", "version"}
//   {"do": "list"}                             -> {"event": "tools", "names"}
//   {"do": "call", "tool", "arguments", "cancel": text | null}
//        -> {"event": "progress", "progress", "total", "message"}*, {"event": "cancelling"}?,
//           {"event": "answer", "text", "error"} or {"event": "failed", "message"}
//   {"do": "close"}                            -> {"event": "closing"}, {"event": "closed"}, and the end
import { createInterface } from 'node:readline';

// A call to be cancelled is cancelled at its first progress, or after this long without any.
const PATIENCE = 500;

// `at` is the monotonic clock in nanoseconds, the same that `spy.py` and `drive.py` read.
const emit = (event, rest = {}) => {
  const at = Number(process.hrtime.bigint());
  process.stdout.write(JSON.stringify({ event, at, ...rest }) + '\n');
};

// `client` has connect() -> version, list() -> names, call(params, {signal, onprogress}) -> result, close().
export async function driven(client) {
  const orders = {
    connect: async () => emit('connected', { version: await client.connect() }),
    list: async () => emit('tools', { names: await client.list() }),
    call: order => call(client, order),
    close: async () => {
      emit('closing');
      await client.close();
      emit('closed');
    }
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    try {
      await orders[order.do](order);
    } catch (error) {
      emit('failed', { message: String(error?.stack ?? error) });
    }
    if (order.do === 'close') process.exit(0);
  }
}

async function call(client, { tool, arguments: args, cancel }) {
  const controller = new AbortController();
  const abort = () => {
    if (!cancel || controller.signal.aborted) return;
    emit('cancelling');
    controller.abort(cancel);
  };
  const timer = cancel ? setTimeout(abort, PATIENCE) : undefined;
  const onprogress = ({ progress, total, message }) => {
    emit('progress', { progress, total, message });
    abort();
  };
  try {
    const result = await client.call({ name: tool, arguments: args }, { signal: controller.signal, onprogress });
    const text = result.content.map(item => item.text ?? '').join('\n');
    emit('answer', { text, error: result.isError ?? false });
  } finally {
    clearTimeout(timer);
  }
}
