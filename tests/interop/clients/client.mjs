// @modelcontextprotocol/client:  node client.mjs legacy|auto|VERSION URL|COMMAND [ARG...]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { driven } from './driven.mjs';

const [mode, target, ...args] = process.argv.slice(2);
const overHttp = target.startsWith('http://');
const transport = overHttp
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args });
const negotiation = ['legacy', 'auto'].includes(mode) ? mode : { pin: mode };
const client = new Client({ name: 'interop', version: '1.0.0' }, { versionNegotiation: { mode: negotiation } });

await driven({
  connect: async () => {
    await client.connect(transport);
    return client.getNegotiatedProtocolVersion();
  },
  list: async () => (await client.listTools()).tools.map(tool => tool.name),
  call: (params, options) => client.callTool(params, options),
  close: async () => {
    if (overHttp && transport.sessionId) await transport.terminateSession();
    await client.close();
  }
});
