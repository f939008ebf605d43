import { readConfig, startServer } from '@svc/server'
import { type Death, watchCommits } from './kill-at-commit.ts'

// The service as `svc serve` runs it, with another lease if the environment sets one. It sends its addresses to the
// process that kills it. On a message of that process, or from its start, it kills itself at a commit.
const commits = watchCommits()
const { SVC_CRASH_LEASE_MS, SVC_CRASH_AT } = process.env
if (SVC_CRASH_AT) commits.arm(JSON.parse(SVC_CRASH_AT) as Death)
const { url, smtp_urls } = await startServer({
  config: readConfig(process.env),
  lease_ms: SVC_CRASH_LEASE_MS ? Number(SVC_CRASH_LEASE_MS) : undefined,
})
process.send?.({ url, smtp_url: smtp_urls[0] ?? null, dies_at_commits: true })
process.on('message', (death: Death) => {
  commits.arm(death)
  process.send?.('armed')
})
process.on('disconnect', () => process.exit())
