import { Database } from 'bun:sqlite'
import { webhookHandler } from '@svc/client'
import { Hono } from 'hono'
import { dedupeIn } from './dedupe.ts'

const database = new Database(process.env.DATABASE ?? 'receiver.db')
database.run('PRAGMA journal_mode = WAL')

const hooks = webhookHandler({
  secret: process.env.SVC_WEBHOOK_SECRET,
  dedupe: dedupeIn(database),
  on: {
    'message.delivered': ({ data }) => console.log(`${data.message_id} was delivered`),
    'message.failed': ({ data }) => console.log(`${data.message_id} failed: ${data.error_code}`),
    'message.received': ({ data }) => console.log(`${data.message_id} was received`),
  },
})

const app = new Hono()
app.post('/hooks/svc', hooks.hono)

const server = Bun.serve({ port: Number(process.env.PORT ?? 8080), fetch: app.fetch })
console.log(`http://127.0.0.1:${server.port}`)
