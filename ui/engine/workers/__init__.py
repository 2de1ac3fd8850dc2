"""Read what strangers chose in worker processes, which are ended when they pass a limit.

`pool.ask` asks for a job, `process` holds one worker, `worker` is what runs in it, and `jobs` are
all that it can be asked for. No pickle crosses: `messages` are JSON and the bytes of tensors.
"""
