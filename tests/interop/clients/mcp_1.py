"""PyPI mcp, first generation:  mcp_1.py legacy URL|COMMAND [ARG...]"""
import sys
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from driven import driven


class Connected:
    def __init__(self, session, version):
        self.session = session
        self.version = lambda: version

    async def names(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, tool, arguments, progress):
        return await self.session.call_tool(tool, arguments, progress_callback=progress)


@asynccontextmanager
async def connect(_mode, target, *args):
    if target.startswith("http://"):
        transport = streamable_http_client(target)
    else:
        transport = stdio_client(StdioServerParameters(command=target, args=list(args)))
    async with transport as (read, write, *_), ClientSession(read, write) as session:
        version = (await session.initialize()).protocolVersion
        yield Connected(session, version)


anyio.run(driven, connect(*sys.argv[1:]), False)
