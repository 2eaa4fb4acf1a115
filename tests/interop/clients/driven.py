"""What the Python clients have in common; the orders and events are those of driven.mjs."""
import json
import sys
import time

import anyio
import anyio.to_thread

# A call to be cancelled is cancelled at its first progress, or after this long without any.
PATIENCE = 0.5


def emit(event, **rest):
    # `at` is the monotonic clock in nanoseconds, the same that spy.py and drive.py read.
    print(json.dumps({"event": event, "at": time.monotonic_ns(), **rest}), flush=True)


async def driven(client, cancels=True):
    """`client` is an async context manager whose value has version(), names() and call(tool, arguments, progress).

    One that only stops waiting for a call that it abandons (`cancels` false) asks for no progress of such a call:
    it would fall over messages that arrive while it closes.
    """
    await _order()  # the first one is always "connect"
    try:
        async with client as connected:
            emit("connected", version=connected.version())
            while (order := await _order())["do"] != "close":
                try:
                    await _obey(connected, order, cancels)
                except Exception as error:
                    emit("failed", message=f"{type(error).__name__}: {error}")
            emit("closing")
        emit("closed")
    except Exception as error:
        emit("failed", message=repr(error))


async def _order():
    line = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
    return json.loads(line) if line else {"do": "close"}


async def _obey(client, order, cancels):
    if order["do"] == "list":
        emit("tools", names=await client.names())
        return
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:

            def cancel():
                if order["cancel"] and not scope.cancel_called:
                    emit("cancelling")
                    scope.cancel()

            async def impatience():
                await anyio.sleep(PATIENCE)
                cancel()

            async def progress(progress, total, message):
                emit("progress", progress=progress, total=total, message=message)
                cancel()

            tasks.start_soon(impatience)
            listener = progress if cancels or not order["cancel"] else None
            result = await client.call(order["tool"], order["arguments"], listener)
            text = "\n".join(getattr(item, "text", "") for item in result.content)
            error = getattr(result, "is_error", None) or getattr(result, "isError", False)
            emit("answer", text=text, error=bool(error))
            tasks.cancel_scope.cancel()
    if scope.cancelled_caught:
        emit("failed", message="cancelled")
