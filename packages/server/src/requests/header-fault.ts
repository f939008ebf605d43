import type { IncomingMessage } from 'node:http'
import { invalid, type SvcError } from '@svc/core/contract'

/**
 * Headers that a request may have only once. If there were two values, a proxy might use one and the service the
 * other: Node joins the values of some headers and drops the second value of others.
 */
const SINGLE = new Map(
  ['Host', 'Authorization', 'X-API-Key', 'Idempotency-Key', 'Content-Type'].map((name) => [
    name.toLowerCase(),
    name,
  ]),
)

/** `uri-host [ ":" port ]` of RFC 3986. It may be empty. It has no comma, because a comma may join two values. */
const HOST = /^(?:\[[\da-f:.]+\]|(?:[\w.~!$&'()*+;=-]|%[\da-f]{2})*)(?::\d*)?$/i

/**
 * Returns the fault in the headers of a request; null for none. This check runs before all others. Source for `Host`,
 * which Node does not check: RFC 9112 section 3.2.
 */
export function headerFault({
  rawHeaders,
  headers: { host },
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'headers' | 'httpVersion'>): SvcError | null {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase()
    const single = SINGLE.get(name)
    if (single === undefined) continue
    if (seen.has(name)) return invalid(single, `The ${single} header must be given only once`)
    seen.add(name)
  }
  if (host === undefined) {
    return httpVersion === '1.1' ? invalid('Host', 'The Host header is missing') : null
  }
  return HOST.test(host) ? null : invalid('Host', 'The Host header is not valid')
}
