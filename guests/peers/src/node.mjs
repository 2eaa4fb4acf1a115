// A server that tells what it has read, in the words of src/seen.rs.
import { createServer } from "node:http";

const sum = (bytes) => {
  let sum = 0x811c9dc5;
  for (const byte of bytes) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  return sum.toString(16).padStart(8, "0");
};

const headersOf = (raw) => {
  const lines = new Map();
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at].toLowerCase();
    const hex = Buffer.from(raw[at + 1], "latin1").toString("hex");
    lines.set(name, (lines.get(name) ?? "") + `${name}=${hex};`);
  }
  return [...lines.values()].join("");
};

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    const { method, url, httpVersion, rawHeaders } = request;
    const seen = `${method} ${url} HTTP/${httpVersion} ${headersOf(rawHeaders)} ${body.length}:${sum(body)}`;
    response.writeHead(200, { "x-seen": seen, "content-length": 0 });
    response.end();
  });
});
server.on("clientError", (error, socket) => {
  if (!socket.writable) return socket.destroy();
  const status = error.code === "HPE_HEADER_OVERFLOW" ? 431 : 400;
  socket.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\n\r\n${error.code}: ${error.reason}\n`);
});
server.httpAllowHalfOpen = true;
server.listen(0, "127.0.0.1", () => console.log(`LISTENING ${server.address().port}`));
process.stdin.on("end", () => process.exit());
process.stdin.resume();
