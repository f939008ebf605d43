import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Postfix,
  postfixMissing,
  startPostfix,
} from '../../../core/test/providers/smtp/postfix.ts'
import { CERTIFICATE, CERTIFICATE_KEY } from '../../../core/test/providers/smtp/send-certificate.ts'
import { openInletStage } from './inlet-stage.ts'

const START_MAX_MS = 60_000
const MAIL_MAX_MS = 20_000

describe.skipIf(postfixMissing)('Postfix as a relay, with a login', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-relay-'))
  let stage: Awaited<ReturnType<typeof openInletStage>>
  let postfix: Postfix
  let key: string

  beforeAll(async () => {
    const files = { cert: join(folder, 'smtp.crt'), key: join(folder, 'smtp.key') }
    writeFileSync(files.cert, CERTIFICATE)
    writeFileSync(files.key, CERTIFICATE_KEY)
    stage = await openInletStage({ settings: { certificate: files } })
    key = (await stage.world.key(await stage.world.signup({ credits: 100 }))).key
    postfix = await startPostfix({
      relay_port: stage.port,
      relay_login: `any name:${key}`,
      bounce_domain: 'unused.example.test',
      bounce_port: 9,
      gives_up_after_s: 60,
    })
  }, START_MAX_MS)
  afterAll(async () => {
    await postfix?.stop()
    await stage?.close()
    rmSync(folder, { recursive: true })
  })

  const send = (mail: object) =>
    createTransport({ host: '127.0.0.1', port: postfix.port, ignoreTLS: true }).sendMail({
      from: '"Acme" <shop@svc.example>',
      ...mail,
    })

  it('sends a mail with its recipients, text in UTF-8 and file', async () => {
    await send({
      to: ['asha@example.com', 'bo@example.com'],
      cc: 'cy@example.com',
      bcc: 'di@example.com',
      subject: 'Your order \u2713',
      text: '.\nCaf\u00e9, a line with two dots at its beginning:\n..\n',
      attachments: [{ filename: 'a.txt', content: 'x' }],
    })
    await expect.poll(() => stage.outcomes, { timeout: MAIL_MAX_MS }).toStrictEqual(['accepted'])
    const { body } = await stage.world.call('GET', '/api/v1/messages', { key })
    expect(body.data.messages).toHaveLength(1)
    expect(body.data.messages[0].recipients).toMatchObject([
      { address: 'asha@example.com', role: 'to' },
      { address: 'bo@example.com', role: 'to' },
      { address: 'cy@example.com', role: 'cc' },
      { address: 'di@example.com', role: 'bcc' },
    ])
    expect(body.data.messages[0].content).toMatchObject({
      subject: 'Your order \u2713',
      text: '.\nCaf\u00e9, a line with two dots at its beginning:\n..\n',
      attachments: [{ filename: 'a.txt' }],
    })
  })

  it('returns a mail that the inlet refuses to its sender, with the reason', async () => {
    await send({ to: 'x@sms.sandbox.svc', subject: 'Hi', text: 'Hello' })
    await expect
      .poll(() => postfix.log(), { timeout: MAIL_MAX_MS })
      .toMatch(/to=<x@sms\.sandbox\.svc>.*dsn=5\.1\.3, status=bounced .*550 5\.1\.3 This is not/)
  })
})
