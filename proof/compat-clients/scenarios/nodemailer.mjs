// Plays with nodemailer against the SMTP inlet.
import assert from 'node:assert/strict'
import { api, check, end, load, pause, refusal, scenario } from './checks.mjs'

const nodemailer = load(scenario.module)
const { service, limited, certificate } = scenario
const MAIL = {
  from: '"Acme" <shop@acme.example>',
  to: 'delivered@sandbox.svc',
  subject: 'Hello',
  text: 'It works',
}
const MEGABYTE = 1024 * 1024

function transporterOf(place, { key = place.key, ...options } = {}) {
  return nodemailer.createTransport({
    host: '127.0.0.1',
    port: place.smtp_port,
    requireTLS: true,
    tls: { ca: certificate },
    auth: { user: 'app', pass: key },
    ...options,
  })
}

const transporter = transporterOf(service)

/** The message of a sent mail. */
async function messageOf({ response }) {
  const id = /^250 2\.6\.0 Queued as (\S+)$/.exec(response)?.[1]
  assert.ok(id, response)
  return (await api('GET', `messages/${id}`)).message
}

await check('verify', async () => assert.equal(await transporter.verify(), true))

await check('send with STARTTLS', async () => {
  const message = await messageOf(await transporter.sendMail(MAIL))
  assert.deepEqual([message.recipient, message.content.text], [MAIL.to, MAIL.text])
  assert.deepEqual([message.sender, message.content.from_address], ['Acme', 'shop@acme.example'])
})

await check('unknown certificate', async () => {
  const error = await refusal(transporterOf(service, { tls: {} }).sendMail(MAIL))
  assert.match(`${error.code} ${error.message}`, /self.signed/i)
})

for (const method of ['PLAIN', 'LOGIN']) {
  await check(`AUTH ${method}`, async () => {
    await messageOf(await transporterOf(service, { authMethod: method }).sendMail(MAIL))
    const error = await refusal(transporterOf(service, { authMethod: method, key: 'x' }).verify())
    assert.deepEqual([error.code, error.responseCode], ['EAUTH', 535])
  })
}

await check('content', async () => {
  const message = await messageOf(
    await transporter.sendMail({
      ...MAIL,
      to: ['"Müller, Jürgen" <a@example.com>', 'b@example.com'],
      cc: 'c@example.com',
      bcc: 'd@example.com',
      replyTo: 'help@acme.example',
      subject: 'Grüße 👋',
      text: 'Grüße\r\n.\r\n👋',
      html: '<p>Grüße <img src="cid:logo"></p>',
      attachments: [
        { filename: 'größe.txt', content: 'Hello' },
        { filename: 'logo.png', content: Buffer.alloc(1_000, 7), cid: 'logo' },
      ],
      headers: { 'X-Order': 'A1', 'X-Svc-Metadata': '{"order":"A1"}' },
    }),
  )
  const { content } = message
  assert.equal(content.subject, 'Grüße 👋')
  assert.equal(content.text.replace(/\r\n/g, '\n').trimEnd(), 'Grüße\n.\n👋')
  assert.deepEqual([content.cc, content.bcc], [['c@example.com'], ['d@example.com']])
  assert.deepEqual(
    content.attachments.map(({ filename, size_bytes }) => [filename, size_bytes]).sort(),
    [
      ['größe.txt', 5],
      ['logo.png', 1_000],
    ],
  )
  assert.equal(message.metadata.order, 'A1')
  assert.equal(message.recipients.length, 4)
})

await check('idempotency key', async () => {
  const mail = { ...MAIL, headers: { 'X-Svc-Idempotency-Key': 'order-1' } }
  const first = await transporter.sendMail(mail)
  assert.equal((await transporter.sendMail(mail)).response, first.response)
})

await check('pool', async () => {
  const pool = transporterOf(service, { pool: true, maxConnections: 2 })
  const sent = await Promise.all(Array.from({ length: 20 }, () => pool.sendMail(MAIL)))
  pool.close()
  assert.equal(new Set(sent.map(({ response }) => response)).size, 20)
})

await check('errors', async () => {
  await api('POST', 'contacts/suppressions', { channel: 'email', address: 'no@example.com' })
  const attachments = [{ filename: 'a.bin', content: Buffer.alloc(11 * MEGABYTE) }]
  const cases = [
    [{ ...MAIL, to: 'no@example.com' }, 550],
    [{ ...MAIL, attachments }, 552],
    [{ ...MAIL, headers: { 'X-Svc-Metadata': 'not JSON' } }, 554],
  ]
  for (const [mail, responseCode] of cases) {
    const error = await refusal(transporter.sendMail(mail))
    assert.equal(error.responseCode, responseCode, error.message)
  }
  const reader = await refusal(transporterOf(service, { key: service.reader }).sendMail(MAIL))
  assert.deepEqual([reader.code, reader.responseCode], ['EAUTH', 535])
})

await check('rate limit and retry', async () => {
  const hasty = transporterOf(limited)
  let error = null
  for (let n = 0; n < 5 && error === null; n++) {
    error = await hasty.sendMail(MAIL).then(
      () => null,
      (reason) => reason,
    )
  }
  assert.equal(error?.responseCode, 451, `${error}`)
  await pause(2_500)
  await hasty.sendMail(MAIL)
})

transporter.close()
end()
