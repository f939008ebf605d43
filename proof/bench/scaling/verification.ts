import { type AcceptLoad, meanOfSingleQueue, simulateAccept } from './accept-simulation.ts'

/** A figure of both models, and their maximum difference. */
export interface Check {
  name: string
  analytic: number
  simulated: number
  tolerance: number
}

/** Whether the models agree. */
export function agrees({ analytic, simulated, tolerance }: Check): boolean {
  return Math.abs(simulated - analytic) <= tolerance * analytic
}

/** Compares the simulation with calculated results: they differ if one is wrong. */
export function checksOf(
  cost: Pick<AcceptLoad, 'fixed_ms' | 'per_request_ms' | 'flush_ms'>,
): Check[] {
  const base = { ...cost, seed: 1, servers: 1, slots: 2, batch_max: 512, db_cores: 4 }
  const single = { ...base, slots: 1, batch_max: 1, hot_share: 1, requests: 100_000 }
  const service_ms = cost.fixed_ms + cost.per_request_ms + cost.flush_ms
  const queue = simulateAccept({ ...single, rate_per_ms: 0.8 / service_ms })
  const full = { ...base, requests: 80_000, rate_per_ms: 1_000_000 }
  const batch_ms = cost.fixed_ms + cost.per_request_ms * base.batch_max
  const locked = simulateAccept({ ...full, servers: 3, hot_share: 1 })
  const free = simulateAccept({ ...full, hot_share: 0, db_cores: 1, flush_ms: batch_ms / 10 })
  return [
    {
      name: 'mean wait of a single queue at 80 % (M/D/1), ms',
      analytic: meanOfSingleQueue(0.8 / service_ms, service_ms),
      simulated: queue.mean_ms,
      tolerance: 0.05,
    },
    {
      name: 'hot workspace with three servers, sends/s',
      analytic: (base.batch_max * 1000) / (batch_ms + cost.flush_ms),
      simulated: locked.per_s,
      tolerance: 0.02,
    },
    {
      name: 'different workspaces, one core, sends/s',
      analytic: (base.batch_max * 1000) / batch_ms,
      simulated: free.per_s,
      tolerance: 0.02,
    },
  ]
}
