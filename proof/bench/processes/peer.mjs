import { createHmac, randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { answer } from '../../stage/answer.mjs'

// A durable queue behind the framework of the service: the route queues a message and answers, the worker "sends" it
// like the sandbox and reports it to a webhook, all in one process. Requests: `PeerHandlers`.

const fastify = createRequire(new URL('../../../packages/server/package.json', import.meta.url))(
  'fastify',
)

/** As many at once as the lane of the service. */
const SOCKETS = 256

/**
 * Opens the queue of each peer. `load` loads a package of the peer, and `perform` handles a queued message. Each returns the
 * function that queues a message durably.
 */
const PEERS = {
  async BullMQ({ database, load, perform }) {
    const { Queue, Worker } = load('bullmq')
    const Redis = load('ioredis')
    const connect = () => new Redis({ path: database, maxRetriesPerRequest: null })
    const queue = new Queue('messages', { connection: connect() })
    const worker = new Worker('messages', ({ data }) => perform(data), {
      connection: connect(),
      concurrency: 256,
    })
    worker.on('error', (error) => console.error(error))
    await worker.waitUntilReady()
    const retried = { attempts: 8, backoff: { type: 'exponential', delay: 1_000 } }
    return (message) => queue.add('send', message, retried)
  },
  async 'pg-boss'({ database, load, perform }) {
    const PgBoss = load('pg-boss')
    const boss = new PgBoss({ connectionString: database, max: 20 })
    boss.on('error', (error) => console.error(error))
    await boss.start()
    await boss.createQueue('send')
    // Half a second is the shortest pause that it permits.
    const worker = { batchSize: 500, pollingIntervalSeconds: 0.5 }
    const id = await boss.work('send', worker, async (jobs) => {
      await Promise.all(jobs.map(({ data }) => perform(data)))
      // A full batch: more are queued.
      if (jobs.length === worker.batchSize) boss.notifyWorker(id)
    })
    return (message) => boss.send('send', message, { retryLimit: 8, retryBackoff: true })
  },
  async 'graphile-worker'({ database, load, perform }) {
    const { Logger, run } = load('graphile-worker')
    const runner = await run({
      preset: {
        worker: {
          connectionString: database,
          maxPoolSize: 20,
          concurrentJobs: 64,
          // The batches that its documentation recommends for throughput.
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
        },
      },
      logger: new Logger(() => () => {}),
      noHandleSignals: true,
      taskList: { send: perform },
    })
    return (message) => runner.addJob('send', message, { maxAttempts: 8 })
  },
}

answer({
  async start({ name, database, packages, webhook_url, secret }) {
    const report = reporter(webhook_url, secret)
    const queue = await PEERS[name]({
      database,
      load: createRequire(join(packages, 'package.json')),
      perform: (message) => report({ ...message, status: 'delivered' }),
    })
    const app = fastify()
    app.post('/api/v1/messages/send', async ({ body }, reply) => {
      const message_id = randomUUID()
      const created_at = new Date().toISOString()
      await queue({ message_id, created_at, ...body })
      reply.code(201)
      const data = { message_id, status: 'queued', credits_used: 1, created_at }
      return { success: true, data }
    })
    return { url: await app.listen({ host: '127.0.0.1', port: 0 }) }
  },
})

/** Posts an event in the form and with the signature of Standard Webhooks. */
function reporter(url, secret) {
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS })
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  return (data) => {
    const id = randomUUID()
    const now = new Date()
    const body = JSON.stringify({ event: 'message.delivered', timestamp: now.toISOString(), data })
    const seconds = Math.floor(now.getTime() / 1000)
    const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': `v1,${signature}`,
    }
    return new Promise((resolve, reject) => {
      const post = request(url, { method: 'POST', agent, headers }, (response) => {
        response.resume()
        response.once('end', () => {
          if (response.statusCode < 300) resolve()
          else reject(new Error(`the webhook answered ${response.statusCode}`))
        })
      })
      post.once('error', reject)
      post.end(body)
    })
  }
}
