import { readConfig, startServer } from '@svc/server'

// The service as `svc serve` runs it, but for the lease where that is given. The process that kills it is told where it
// listens.
const { SVC_CRASH_LEASE_MS } = process.env
const { url } = await startServer({
  config: readConfig(process.env),
  lease_ms: SVC_CRASH_LEASE_MS ? Number(SVC_CRASH_LEASE_MS) : undefined,
})
process.send?.({ url })
process.on('disconnect', () => process.exit())
