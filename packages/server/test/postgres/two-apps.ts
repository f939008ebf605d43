import { type Core, createCore } from '@svc/core'
import { type Quotas, RATES, type RateLimit } from '@svc/core/contract'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import { buildApp } from '../../src/app.ts'
import { accountsOf } from '../accounts.ts'
import { type Call, callerOf } from '../call.ts'
import { JWT_SECRET, QUIET } from '../world.ts'

/** One of two servers: the whole service, without sockets and without dispatch. */
interface App {
  call: Call
  core: Core
}

export type TwoApps = Awaited<ReturnType<typeof openTwoApps>>

/** Two servers on one PostgreSQL database, with the real clock. Limits and quotas: the service's, or these. */
export async function openTwoApps(
  rates: Partial<Record<keyof typeof RATES, RateLimit>> = {},
  quotas: Partial<Quotas> = {},
) {
  const database = await createDatabase()
  const open = async () => {
    const core = await createCore({ database_url: database.url, threads: 0, quotas })
    const config = { jwt_secret: JWT_SECRET, rates: { ...RATES, ...rates }, trust_proxy: [] }
    // A slow machine would refuse lists for its load, and not for the limits under test.
    const app = await buildApp(core, { config, load: () => QUIET })
    return { core, app, call: callerOf(app).call }
  }
  const opened = await Promise.all([open(), open()])
  const [one, other] = opened
  return {
    one: one as App,
    other: other as App,
    /** The two servers in turn. */
    at: (i: number): App => (i % 2 ? other : one),
    ...accountsOf(one.core, one.call),
    /** A database connection besides theirs. */
    connect: database.connect,
    async close(): Promise<void> {
      for (const { app, core } of opened) {
        await app.close()
        await core.close()
      }
      await database.drop()
    },
  }
}
