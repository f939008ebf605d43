import type { TargetPolicy } from '@svc/core'
import { isLoopback } from '@svc/core/contract'
import type { Config } from './config.ts'

/** The addresses of receivers on this machine. */
const LOOPBACK = ['127.0.0.0/8', '::1/128']

/**
 * The policy of a server for the targets of webhooks. `svc dev` allows plain http. It also allows this machine while
 * it listens at loopback: if it listened elsewhere, other machines could reach services at loopback.
 */
export function targetsOf(
  settings: Pick<Config, 'webhook_allow_http' | 'webhook_allow_nets' | 'webhook_dns' | 'host'>,
  { dev }: { dev: boolean },
): TargetPolicy {
  const { webhook_allow_http, webhook_allow_nets, webhook_dns, host } = settings
  const isAlone = dev && isLoopback(host)
  return {
    allow_http: dev || webhook_allow_http,
    allow_nets: isAlone ? [...LOOPBACK, ...webhook_allow_nets] : webhook_allow_nets,
    // A developer's machine may have host names of its own.
    dns: webhook_dns ?? (dev ? 'system' : null),
  }
}
