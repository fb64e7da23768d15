"""What genba-3.13.0.prof was made of: calls, and coroutines that wait. It imports nothing."""


class Once:
    def __await__(self):
        yield


async def waits(count):
    for _ in range(count):
        await Once()
    return len("done")


async def begins():
    return await waits(3) + await waits(2)


def run(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration as ended:
        return ended.value


for _ in range(4):
    assert run(begins()) == 8
