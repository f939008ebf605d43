// Plays with swaks, a program for tests of mail servers, against the SMTP inlet.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { api, check, end, scenario } from './checks.mjs'

const { service, certificate } = scenario
const ca = join(scenario.folder, 'swaks-ca.crt')
writeFileSync(ca, certificate)
/** Exit codes of swaks: the server refused the login; TLS failed. */
const AUTH_REFUSED = 28
const TLS_FAILED = 29

function swaks(...options) {
  const server = ['--server', '127.0.0.1', '--port', `${service.smtp_port}`]
  const mail = [
    '--from',
    'shop@acme.example',
    '--to',
    'delivered@sandbox.svc',
    '--ehlo',
    'app.example',
  ]
  const { status, stdout, stderr, error } = spawnSync('swaks', [...server, ...mail, ...options], {
    encoding: 'utf8',
  })
  if (error) throw error
  return { status, output: stdout + stderr }
}

const tls = ['--tls', '--tls-verify', '--tls-ca-path', ca]
const login = (method, password = service.key) => [
  '--auth',
  method,
  '--auth-user',
  'app',
  '--auth-password',
  password,
]

for (const method of ['PLAIN', 'LOGIN']) {
  await check(`STARTTLS and AUTH ${method}`, async () => {
    const { status, output } = swaks(...tls, ...login(method), '--header', 'Subject: Hello')
    assert.equal(status, 0, output)
    const id = /250 2\.6\.0 Queued as (\S+)/.exec(output)?.[1]
    const { message } = await api('GET', `messages/${id}`)
    assert.deepEqual(
      [message.recipient, message.content.subject],
      ['delivered@sandbox.svc', 'Hello'],
    )
  })
}

await check('pipelining', async () => {
  const { status, output } = swaks(...tls, ...login('PLAIN'), '--pipeline')
  assert.equal(status, 0, output)
})

await check('errors', async () => {
  assert.equal(swaks(...tls, ...login('PLAIN', 'wrong')).status, AUTH_REFUSED)
  assert.equal(swaks('--tls', '--tls-verify', ...login('PLAIN')).status, TLS_FAILED)
  const relay = swaks(...tls)
  assert.notEqual(relay.status, 0)
  assert.match(relay.output, /530 5\.7\.0/)
})

end()
