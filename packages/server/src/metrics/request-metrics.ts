import type { Registry } from 'prom-client'
import { counter, histogram } from './series.ts'

/** Called after each answered request. `route` is the route's pattern; undefined if there is no route. */
export type OnAnswered = (
  method: string,
  route: string | undefined,
  status: number,
  duration_ms: number,
  url: string,
) => void

/** The label of all requests without a route. */
const NO_ROUTE = 'none'

const BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

/** Counts requests by route. No label has the URL itself, which may hold a token or a phone number. */
export function requestMetrics(registry: Registry): OnAnswered {
  const requests = counter(registry, {
    name: 'svc_http_requests_total',
    help: 'Answered requests, by the pattern of their route.',
    labels: ['method', 'route', 'status'],
  })
  const durations = histogram(registry, {
    name: 'svc_http_request_duration_seconds',
    help: 'Duration of requests, from the request line to the last byte of the answer.',
    labels: ['method', 'route'],
    buckets: BUCKETS,
  })
  return (method, route, status, duration_ms) => {
    const known = route === undefined ? [NO_ROUTE, NO_ROUTE] : [method, route]
    requests(...known, String(status)).value += 1
    durations(...known).observe(duration_ms / 1000)
  }
}
