"""The relay: parties that nobody can dial meet at a message broker (NATS), which carries their TLS and cannot read it.

site       where the broker is, and the subjects that a study's parties use there
route      the way to the broker: straight or through an HTTP proxy, plain, TLS or websocket
broker     a connection to the broker, made again whenever it is lost
carrier    a transport for bytes between two parties: numbered, acknowledged, sent again, in order
exchange   one party's calls to others and calls of others to it

A broker of this kind drops what a slow reader does not take, and what is under way when it ends. So the carrier counts
on nothing: each side keeps what it has sent until the other has it, and no more than a window of it.
"""

from covey.wire.relay.exchange import Exchange
from covey.wire.relay.site import RelayedParty, RelaySite

__all__ = ["Exchange", "RelaySite", "RelayedParty"]
