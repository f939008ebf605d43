import { servePeer } from './peer.mjs'

servePeer(async ({ database, load, perform }) => {
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
})
