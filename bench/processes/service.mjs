import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createCore } from '@svc/core'
import { buildApp, readConfig, startServer } from '@svc/server'
import { answer } from './answer.mjs'

// The service as an operator runs it, and a workspace in it that can pay for everything. Asked as `ServiceHandlers`.

let running

const delays = monitorEventLoopDelay({ resolution: 1 })

answer({
  async start({ dispatch, webhook_url, webhook_events, key: given }) {
    running = dispatch ? await startServer({ config: readConfig(process.env) }) : await accepting()
    const { core, url, metrics_url = null } = running
    if (given !== null) return { url, key: given, secret: '', metrics_url }
    const workspace = await core.workspaces.signup({
      email: 'bench@example.com',
      password: 'not used by anybody',
      company_name: 'Bench',
    })
    const { key } = await core.apiKeys.create(workspace.id, {
      name: 'bench',
      mode: 'live',
      scopes: ['send_messages', 'read_messages'],
    })
    if (webhook_url === null) return { url, key, secret: '', metrics_url }
    const { secret } = await core.webhooks.create(workspace.id, {
      url: webhook_url,
      events: webhook_events,
    })
    return { url, key, secret, metrics_url }
  },
  delay() {
    const found = { p99_ms: delays.percentile(99) / 1e6, max_ms: delays.max / 1e6 }
    delays.enable()
    delays.reset()
    return found
  },
  async idle() {
    if (running.core.isDispatching()) await (await running.core.startDispatch()).idle()
  },
  pause: () => running.core.dispatch.stop({ reason: 'bench' }),
  resume: () => running.core.dispatch.resume(),
  async stop() {
    await running.close()
    // A profile is written when the process ends in order.
    setImmediate(() => process.exit())
  },
})

/** All of the service but its dispatcher. */
async function accepting() {
  const config = readConfig(process.env)
  const core = await createCore({
    database_url: config.database_url,
    signup_credits: config.signup_credits,
  })
  const jwt_secret = await core.secret('jwt')
  const app = await buildApp(core, { config: { ...config, jwt_secret } })
  const url = await app.listen({ host: config.host, port: config.port })
  return {
    core,
    url,
    async close() {
      await app.close()
      await core.close()
    },
  }
}
