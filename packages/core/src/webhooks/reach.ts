import { FORBIDDEN } from '../http/forbidden.ts'
import type { TargetPolicy } from './target.ts'
import { createTargetConnector } from './target-connector.ts'

/** Connects to the address of a webhook as a delivery does, and sends nothing. Returns null, or the reason of the failure. */
export async function reachTarget(url: string, policy: TargetPolicy): Promise<string | null> {
  const connect = createTargetConnector(policy)
  const { protocol, hostname, port, host } = new URL(url)
  const options = { protocol, hostname, host, port: port || defaultPort(protocol) }
  return new Promise((resolve) => {
    connect(options, (error, socket) => {
      socket?.destroy()
      resolve(error ? wordsFor(error) : null)
    })
  })
}

function defaultPort(protocol: string): string {
  return protocol === 'https:' ? '443' : '80'
}

function wordsFor(error: Error & { code?: string }): string {
  if (error.code === FORBIDDEN) {
    return 'it leads to an address that is not public, or uses plain http, which webhook_targets does not allow'
  }
  return `this machine cannot connect to it (${error.code ?? error.message})`
}
