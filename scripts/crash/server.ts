import { readConfig, startServer } from '@svc/server'

// The service as `svc serve` runs it, with another lease if the environment sets one. It sends its address to the
// process that kills it.
const { SVC_CRASH_LEASE_MS } = process.env
const { url } = await startServer({
  config: readConfig(process.env),
  lease_ms: SVC_CRASH_LEASE_MS ? Number(SVC_CRASH_LEASE_MS) : undefined,
})
process.send?.({ url })
process.on('disconnect', () => process.exit())
