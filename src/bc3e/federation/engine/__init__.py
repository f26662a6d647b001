"""The federation protocol between machines, carried by NVIDIA FLARE.

:mod:`bc3e.federation.engine.flare` is the only module that knows the engine. It starts processes,
authenticates them with certificates and carries calls; what is said in the calls is decided by the
others: :mod:`~bc3e.federation.engine.leading` at the server, :mod:`~bc3e.federation.engine.member` at
a site, :mod:`~bc3e.federation.engine.exchange` at both.
"""
