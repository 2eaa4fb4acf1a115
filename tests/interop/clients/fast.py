"""PyPI fastmcp:  fast.py legacy|auto|VERSION URL|COMMAND [ARG...]"""
import sys
from contextlib import asynccontextmanager

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from driven import driven


class Connected:
    def __init__(self, client):
        self.client = client

    def version(self):
        return self.client.session.protocol_version

    async def names(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, tool, arguments, progress):
        return await self.client.call_tool(tool, arguments, progress_handler=progress, raise_on_error=False)


@asynccontextmanager
async def connect(mode, target, *args):
    if target.startswith("http://"):
        transport = StreamableHttpTransport(target)
    else:
        transport = StdioTransport(target, list(args), keep_alive=False)
    async with Client(transport, mode=mode) as client:
        yield Connected(client)


anyio.run(driven, connect(*sys.argv[1:]))
