import { closeSync, openSync, readSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createCore } from '@svc/core'
import { buildApp, readConfig, startServer } from '@svc/server'
import { answer } from './answer.mjs'

// The service as an operator runs it, with a workspace that can pay for everything. Requests: `ServiceHandlers`.

let running
let workspace_id

const delays = monitorEventLoopDelay({ resolution: 1 })
let turns

answer({
  async start({ dispatch, webhook_url, webhook_events, key: existing_key }) {
    running = dispatch ? await startServer({ config: readConfig(process.env) }) : await accepting()
    const { core, url, metrics_url = null } = running
    const smtp_url = running.smtp_urls?.[0] ?? null
    if (existing_key !== null) {
      return { url, key: existing_key, workspace_id: '', secret: '', metrics_url, smtp_url }
    }
    const workspace = await core.workspaces.create({
      email: 'bench@example.com',
      password: 'a password without a user',
      company_name: 'Bench',
    })
    workspace_id = workspace.id
    const { key } = await core.apiKeys.create(workspace.id, {
      name: 'bench',
      mode: 'live',
      scopes: ['send_messages', 'read_messages'],
    })
    if (webhook_url === null) return { url, key, workspace_id, secret: '', metrics_url, smtp_url }
    const { secret } = await core.webhooks.create(workspace.id, {
      url: webhook_url,
      events: webhook_events,
    })
    return { url, key, workspace_id, secret, metrics_url, smtp_url }
  },
  async testKey() {
    const scopes = ['read_messages']
    const made = { name: 'bench test', mode: 'test', scopes }
    return (await running.core.apiKeys.create(workspace_id, made)).key
  },
  delay() {
    const found = { p99_ms: delays.percentile(99) / 1e6, max_ms: delays.max / 1e6 }
    delays.enable()
    delays.reset()
    return found
  },
  turn() {
    turns ??= watchTurns()
    return { max_ms: turns.take() }
  },
  memory: () => ({
    rss_mb: process.memoryUsage.rss() / 1e6,
    peak_mb: (process.resourceUsage().maxRSS * 1_024) / 1e6,
  }),
  async idle() {
    if (running.core.isDispatching()) await (await running.core.startDispatch()).idle()
  },
  async sweep() {
    await (await running.core.startDispatch()).sweep()
  },
  pause: () => running.core.dispatch.stop({ reason: 'bench' }),
  resume: () => running.core.dispatch.resume(),
  async stop() {
    await running.close()
    // A clean end writes the profile.
    setImmediate(() => process.exit())
  },
})

/** The service without its dispatcher. */
async function accepting() {
  const config = readConfig(process.env)
  const core = await createCore({
    database_url: config.database_url,
    signup_credits: config.signup_credits,
    bulk_recipients_max: config.bulk_recipients_max,
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

/**
 * The longest turn of the event loop: the minimum of its duration and of the main thread's processor time in it, so
 * that other processes of the machine do not lengthen it.
 */
function watchTurns() {
  const file = openSync('/proc/self/schedstat')
  const text = Buffer.alloc(64)
  const cpu_ms = () => {
    const length = readSync(file, text, 0, text.length, 0)
    return Number(text.toString('latin1', 0, length).split(' ')[0]) / 1e6
  }
  let max_ms = 0
  let at_ms = performance.now()
  let used_ms = cpu_ms()
  setInterval(() => {
    const now_ms = performance.now()
    const now_used_ms = cpu_ms()
    max_ms = Math.max(max_ms, Math.min(now_ms - at_ms, now_used_ms - used_ms))
    at_ms = now_ms
    used_ms = now_used_ms
  }, 1).unref()
  process.once('exit', () => closeSync(file))
  return {
    take() {
      const longest_ms = max_ms
      max_ms = 0
      return longest_ms
    },
  }
}
