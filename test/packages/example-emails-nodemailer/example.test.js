import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { post, startProgram, startService } from './programs.js'

let service
let app

before(async () => {
  service = await startService()
  const [smtp] = service.smtp_urls
  const SMTP_URL = smtp.replace('://', `://svc:${service.api_key}@`)
  app = await startProgram(process.execPath, ['app.js'], { SMTP_URL })
})

test('an e-mail is accepted and stored', async () => {
  const { status, body } = await post(`${app.url}/welcome`, { email: 'delivered@sandbox.svc' })
  assert.equal(status, 202)
  assert.deepEqual(body.accepted, ['delivered@sandbox.svc'])
  const id = /Queued as ([0-9a-f-]{36})/.exec(body.response)[1]
  const headers = { 'x-api-key': service.api_key }
  const answer = await fetch(`${service.url}/api/v1/messages/${id}`, { headers })
  const { message } = (await answer.json()).data
  assert.deepEqual([message.channel, message.content.subject], ['email', 'Hello'])
})

test('a wrong key is refused', async () => {
  const [smtp] = service.smtp_urls
  const SMTP_URL = smtp.replace('://', '://svc:wrong@')
  const other = await startProgram(process.execPath, ['app.js'], { SMTP_URL })
  const { status, body } = await post(`${other.url}/welcome`, { email: 'delivered@sandbox.svc' })
  assert.deepEqual([status, body.code], [502, 535])
})
