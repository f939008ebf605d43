import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { post, startProgram, startService, until } from './programs.js'

let app

before(async () => {
  const { url, api_key } = await startService()
  const env = { RESEND_BASE_URL: `${url}/compat/resend`, RESEND_API_KEY: api_key }
  app = await startProgram(process.execPath, ['app.js'], env)
})

test('an e-mail is sent and delivered', async () => {
  const { status, body } = await post(`${app.url}/welcome`, { email: 'delivered@sandbox.svc' })
  assert.equal(status, 202)
  await until(async () => {
    const answer = await fetch(`${app.url}/welcome/${body.id}`)
    return (await answer.json()).last_event === 'delivered'
  })
})

test('an address that is none is refused with the error of Resend', async () => {
  const { status, body } = await post(`${app.url}/welcome`, { email: 'asha' })
  assert.equal(status, 422)
  assert.equal(body.error.name, 'validation_error')
})
