"""What strangers chose is read apart: in worker processes that are ended when they pass a limit.

`pool.call` asks, `process` holds one worker, `worker` is what runs in it, and its `jobs` are all
that it can be asked for. No pickle crosses: `plain` turns values into JSON, `wire` carries them.
"""
