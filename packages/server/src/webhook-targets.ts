import { isIP } from 'node:net'
import type { TargetPolicy } from '@svc/core'
import { isLoopback } from '@svc/core/contract'
import { ConfigError } from './config-error.ts'

/** Where the operator lets deliveries go. */
export interface TargetSettings {
  webhook_allow_http: boolean
  /** Networks that deliveries may reach although they are not public. */
  webhook_allow_nets: string[]
  /** Who finds the addresses of webhooks' hosts; null: the servers of this machine. */
  webhook_dns: 'system' | string[] | null
}

/** Where the receivers of whoever tries the service run. */
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/**
 * The policy of a server; one that is only tried may use plain http, and reach this machine where no other can ask it to:
 * what listens at loopback counts on that.
 */
export function targetsOf(
  settings: TargetSettings & { host: string },
  { dev }: { dev: boolean },
): TargetPolicy {
  const { webhook_allow_http, webhook_allow_nets, webhook_dns, host } = settings
  const isAlone = dev && isLoopback(host)
  return {
    allow_http: dev || webhook_allow_http,
    allow_nets: isAlone ? [...LOOPBACK, ...webhook_allow_nets] : webhook_allow_nets,
    // A machine that somebody develops on has names of its own.
    dns: webhook_dns ?? (dev ? 'system' : null),
  }
}

/**
 * Reads who is asked for the addresses of names.
 * @throws ConfigError for what is neither `system` nor a list of addresses.
 */
export function readDns(name: string, text: string | undefined): TargetSettings['webhook_dns'] {
  if (text === undefined || text === 'system') return text ?? null
  const servers = text.split(',').map((part) => part.trim())
  for (const server of servers) {
    const [, v4, v6 = '', port] = /^(?:([\d.]+)|\[(.+)\]):(\d{1,5})$/.exec(server) ?? []
    if (isIP(server) || (isIP(v4 ?? v6) && Number(port) >= 1 && Number(port) <= 65_535)) continue
    throw new ConfigError(
      `${name} must be system, or addresses of DNS servers, for example 10.0.0.2,10.0.0.3:5353, got "${server}"`,
    )
  }
  return servers
}
