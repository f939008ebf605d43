import type { FastifyRequest } from 'fastify'

const LOOPBACK_ADDRESS = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i
const LOOPBACK_ORIGIN = /^https?:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i

/** What only a proxy adds: whoever is behind it is not on this machine. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Whether a browser or program of this machine asks, and by a name of this machine. A page elsewhere whose name was
 * pointed at 127.0.0.1 (DNS rebinding) sends its own name as Host, and a page elsewhere that fetches sends its own as Origin.
 */
export function isLocal({ socket, headers }: FastifyRequest): boolean {
  const { host = '', origin } = headers
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false
  if (!LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '')) return false
  return LOOPBACK_HOST.test(host) && (origin === undefined || LOOPBACK_ORIGIN.test(origin))
}
