import { isIP } from 'node:net'
import { ConfigError } from '../config-error.ts'
import type { Address } from './metrics-server.ts'

/**
 * Reads where to serve metrics: `host:port`, an IPv6 address in brackets.
 * @throws ConfigError for anything else.
 */
export function readMetricsListen(text: string | undefined): Address | null {
  if (text === undefined) return null
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain ?? ''
  const isHost = bracketed === undefined ? host !== '' : isIP(host) === 6
  if (isHost && Number(digits) <= 65_535) return { host, port: Number(digits) }
  throw new ConfigError(
    `SVC_METRICS_LISTEN must be host:port, for example 127.0.0.1:9464, got "${text}"`,
  )
}
