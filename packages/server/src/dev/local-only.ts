import type { FastifyRequest } from 'fastify'

const LOOPBACK_ADDRESS = /^(?:127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/
const LOOPBACK_HOST = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i
const LOOPBACK_ORIGIN = /^https?:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i

/** Headers that only a proxy adds. The client of a proxy may be on another machine. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/**
 * Whether the client is a browser or program on this machine that uses a name of this machine. A foreign page whose
 * name resolves to 127.0.0.1 (DNS rebinding) sends its own name as Host, and a foreign page that calls `fetch` sends
 * its own origin as `Origin`.
 */
export function isLocal({ socket, headers }: FastifyRequest): boolean {
  const { host = '', origin } = headers
  if (FORWARDED.some((name) => headers[name] !== undefined)) return false
  if (!LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '')) return false
  return LOOPBACK_HOST.test(host) && (origin === undefined || LOOPBACK_ORIGIN.test(origin))
}
