"""PyPI mcp, second generation:  mcp_2.py legacy|auto|VERSION URL|COMMAND [ARG...]"""
import sys
from contextlib import asynccontextmanager

import anyio
from mcp import Client, StdioServerParameters

from driven import driven


class Connected:
    def __init__(self, client):
        self.client = client

    def version(self):
        return self.client.protocol_version

    async def names(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, tool, arguments, progress):
        return await self.client.call_tool(tool, arguments, progress_callback=progress)


@asynccontextmanager
async def connect(mode, target, *args):
    server = target if target.startswith("http://") else StdioServerParameters(command=target, args=list(args))
    async with Client(server, mode=mode) as client:
        yield Connected(client)


anyio.run(driven, connect(*sys.argv[1:]))
