import { readConfig, startServer } from '@svc/server'
import { watchHandOvers } from './kill-at-hand-over.ts'

// The service as `svc serve` runs it, with another lease if the environment sets one. It sends its addresses to the
// process that kills it. On a message of that process it kills itself between a commit and its hand-over.
const handOvers = watchHandOvers()
const { SVC_CRASH_LEASE_MS } = process.env
const { url, smtp_urls } = await startServer({
  config: readConfig(process.env),
  lease_ms: SVC_CRASH_LEASE_MS ? Number(SVC_CRASH_LEASE_MS) : undefined,
})
process.send?.({ url, smtp_url: smtp_urls[0] ?? null })
process.on('message', handOvers.arm)
process.on('disconnect', () => process.exit())
