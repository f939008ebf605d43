import { isIP } from 'node:net'
import { type Connector, createConnector, FORBIDDEN } from '../http/client.ts'
import { bare, createTargetGuard, forbidden, type TargetPolicy } from './target.ts'

/**
 * Connects to allowed addresses only, by https unless http is allowed. Checks the address that it connects to, and reports it to
 * `onConnect`.
 */
export function createTargetConnector(
  policy: TargetPolicy,
  onConnect: (hostname: string, address: string) => void = () => {},
): Connector {
  const { isAllowed, lookup } = createTargetGuard(policy)
  const connect = createConnector({ lookup })
  return (options, done) => {
    // The webhook may be older than the policy.
    if (options.protocol !== 'https:' && !policy.allow_http) return done(forbidden(), null)
    const host = bare(options.hostname)
    // Node does not look up a host that is an address, so `lookup` does not check it.
    if (isIP(host) && !isAllowed(host)) return done(forbidden(), null)
    connect(options, (...[error, socket]) => {
      if (error) return done(error, null)
      const { remoteAddress = '' } = socket
      if (isAllowed(remoteAddress)) {
        onConnect(options.hostname, remoteAddress)
        return done(null, socket)
      }
      socket.destroy()
      done(forbidden(), null)
    })
  }
}

/** Connects to the address of a webhook as a delivery does, and sends nothing. Returns null, or the reason of the failure. */
export async function reachTarget(url: string, policy: TargetPolicy): Promise<string | null> {
  const connect = createTargetConnector(policy)
  const { protocol, hostname, port, host } = new URL(url)
  const options = { protocol, hostname, host, port: port || defaultPort(protocol) }
  return new Promise((resolve) => {
    connect(options, (error, socket) => {
      socket?.destroy()
      if (!error) return resolve(null)
      const isPlain = protocol !== 'https:' && !policy.allow_http
      resolve(wordsFor(error, isPlain))
    })
  })
}

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80'
}

function wordsFor(error: Error & { code?: string }, isPlain: boolean): string {
  if (error.code === FORBIDDEN) {
    return isPlain
      ? 'it uses plain http, which webhook_targets.allow_http does not allow'
      : 'it leads to an address that is not public, which webhook_targets.allow_nets does not allow'
  }
  return `this machine cannot connect to it (${error.code ?? error.message})`
}
