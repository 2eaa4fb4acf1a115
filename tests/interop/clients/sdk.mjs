// @modelcontextprotocol/sdk, the first generation:  node sdk.mjs legacy URL|COMMAND [ARG...]
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { driven } from './driven.mjs';

const [, target, ...args] = process.argv.slice(2);
const overHttp = target.startsWith('http://');
const transport = overHttp
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args });
const client = new Client({ name: 'interop', version: '1.0.0' });

// This client tells the negotiated version to its transport only.
let version;
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = chosen => {
  version = chosen;
  setProtocolVersion?.(chosen);
};

await driven({
  connect: async () => {
    await client.connect(transport);
    return version;
  },
  list: async () => (await client.listTools()).tools.map(tool => tool.name),
  call: (params, options) => client.callTool(params, undefined, options),
  close: async () => {
    if (overHttp && transport.sessionId) await transport.terminateSession();
    await client.close();
  }
});
