import { setImmediate as checkPhase } from 'node:timers/promises'

/**
 * How long connections to providers are kept while idle, as undici takes it. Servers close idle connections without
 * asking: after 60 s (Kannel), 5 s (Node, Apache) or 2 s (gunicorn). A request that crosses the peer's FIN on the network
 * gets no answer, and TCP does not tell whether the peer has read it, so such a message would be in doubt. A connection is
 * therefore closed here before any usual server closes it; what a `Keep-Alive` header allows never makes this longer.
 */
export const PROVIDER_KEEP_ALIVE = {
  keepAliveTimeout: 500,
  keepAliveMaxTimeout: 500,
  keepAliveTimeoutThreshold: 500,
}

/** The same for webhooks. A delivery may be repeated, so their connections are kept longer: a TLS handshake costs more. */
export const WEBHOOK_KEEP_ALIVE = {
  keepAliveTimeout: 4_000,
  keepAliveMaxTimeout: 4_000,
  keepAliveTimeoutThreshold: 1_000,
}

/**
 * Resolves after one whole turn of the event loop, in which timers that are due and everything that the kernel holds
 * for this thread are handled. A FIN that arrived before the call has then closed its connection, also where the loop
 * stood still for long.
 */
export async function turnOfLoop(): Promise<void> {
  // The first check phase may be that of the present turn.
  await checkPhase()
  await checkPhase()
}
