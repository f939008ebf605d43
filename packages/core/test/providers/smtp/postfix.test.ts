import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createTransport } from 'nodemailer'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MessageRef } from '../../../src/contract/outside/provider.ts'
import { smtpType } from '../../../src/providers/smtp/type.ts'
import {
  BOUNCE_DOMAIN,
  bounceAddress,
  createSink,
  newRef,
  openIntake,
  SECRET,
} from './intake-stage.ts'
import { type Postfix, postfixMissing, startPostfix } from './postfix.ts'

/** A mail server that refuses some recipients. */
async function startReceiver() {
  const answers: Record<string, [number, string]> = {
    gone: [550, '5.1.1 <gone@receiver.example.test>: User unknown in local table'],
    full: [552, '5.2.2 The mailbox is over its quota'],
    policy: [554, '5.7.1 Refused by policy'],
    bare: [550, 'No'],
    later: [450, '4.2.0 Greylisted'],
  }
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onRcptTo({ address }, _session, done) {
      const [responseCode, text] = answers[address.split('@')[0] ?? ''] ?? []
      done(text ? Object.assign(new Error(text), { responseCode }) : null)
    },
    onData(stream, _session, done) {
      stream.resume().on('end', () => done())
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return { port, stop: () => new Promise<void>((resolve) => server.close(resolve)) }
}

describe.runIf(postfixMissing === null)(
  postfixMissing === null
    ? 'bounces of a real Postfix'
    : `bounces of a real Postfix (not run: ${postfixMissing})`,
  () => {
    const sink = createSink()
    let postfix: Postfix
    let start: (gives_up_after_s: number) => Promise<Postfix>
    const stops: (() => Promise<void>)[] = []

    beforeAll(async () => {
      const receiver = await startReceiver()
      stops.push(receiver.stop)
      const intake = await openIntake(sink)
      stops.push(() => intake.close(0))
      start = async (gives_up_after_s) => {
        const started = await startPostfix({
          relay_port: receiver.port,
          bounce_domain: BOUNCE_DOMAIN,
          bounce_port: intake.port,
          gives_up_after_s,
        })
        stops.unshift(started.stop)
        return started
      }
      postfix = await start(3600)
    })
    afterAll(async () => {
      for (const stop of stops) await stop()
    })

    async function send(local: string, notify = 'FAILURE,DELAY', by = postfix) {
      const about = newRef()
      const transport = createTransport({ host: '127.0.0.1', port: by.port, ignoreTLS: true })
      const to = `${local}@receiver.example.test`
      await transport.sendMail({
        from: { name: 'Shop', address: 'shop@example.test' },
        to: { name: '', address: to },
        envelope: { from: bounceAddress(about), to: [to] },
        subject: 'News',
        text: 'News',
        dsn: {
          id: about.message_id,
          return: 'headers',
          notify: notify.split(',') as 'failure'[],
          recipient: `rfc822;${to}`,
        },
      })
      transport.close()
      return about
    }

    async function reportOf({ message_id }: MessageRef) {
      const isIt = (report: (typeof sink.reports)[number]) =>
        'about' in report && report.about?.message_id === message_id
      for (;;) {
        const found = sink.reports.find(isIt)
        if (found) return found
        await sink.came(sink.reports.length + 1)
      }
    }

    it.each([
      ['gone', 'bounced', 'smtp:5.1.1 The recipient does not exist', { suppress: 'bounce' }],
      ['full', 'bounced', 'smtp:5.2.2 The mailbox is full', {}],
      ['policy', 'undelivered', 'smtp:5.7.1 The mail violates a policy of the mail server', {}],
      ['bare', 'undelivered', 'smtp:5.0.0 The mail server refuses the mail', {}],
    ])('of %s, refused permanently, are %s', async (local, error_code, error_message, more) => {
      const about = await send(local)
      expect(await reportOf(about)).toEqual({
        type: 'receipt',
        about,
        provider_message_id: null,
        receipt: {
          status: 'failed',
          provider_message_id: null,
          error_code,
          error_message,
          ...more,
          recipients: [
            {
              addresses: Array(2).fill(`${local}@receiver.example.test`),
              status: 'failed',
              error_code,
              error_message,
              ...more,
            },
          ],
        },
      })
    })

    it('of a temporary refusal change nothing yet', async () => {
      const about = await send('later')
      expect(await reportOf(about)).toMatchObject({
        about,
        receipt: { status: 'sent', error_code: null },
      })
    })

    it('of a temporary refusal fail when Postfix gives up, and do not suppress', async () => {
      const about = await send('later', 'FAILURE', await start(1))
      const report = await reportOf(about)
      expect(report).toMatchObject({
        about,
        receipt: { status: 'failed', error_code: 'undelivered' },
      })
      expect(report).not.toHaveProperty('receipt.suppress')
    })

    it('report a relayed mail on request', async () => {
      const about = await send('relayed', 'SUCCESS,FAILURE')
      expect(await reportOf(about)).toMatchObject({ about, receipt: { status: 'sent' } })
    })

    it('work for a mail of the provider', async () => {
      const settings = smtpType.settings.parse({
        name: 'mail',
        type: 'smtp',
        url: `smtp://127.0.0.1:${postfix.port}`,
        mail_domain: 'example.test',
        bounce_domain: BOUNCE_DOMAIN,
      })
      const provider = await smtpType.open(settings, {
        public_url: 'https://svc.example.test',
        callback_url: 'https://svc.example.test/callbacks/mail',
        secret: SECRET,
      })
      stops.unshift(async () => provider.close?.())
      const about = newRef()
      const [outcome] = await provider.send([
        {
          ...about,
          channel: 'email',
          sender: 'Shop',
          recipient: 'gone@receiver.example.test',
          content: { subject: 'News', text: 'News' },
          attempt: 1,
          created_at_ms: Date.parse('2026-05-04T09:00:00.000Z'),
          max_duration_s: null,
        },
      ])
      expect(outcome).toMatchObject({ type: 'accepted' })
      expect(await reportOf(about)).toMatchObject({
        about,
        receipt: { status: 'failed', error_code: 'bounced', suppress: 'bounce' },
      })
    })

    it('are sent again if they could not be stored', async () => {
      let failures = 0
      sink.before = async () => {
        if (failures === 2) return
        failures += 1
        throw new Error('no room')
      }
      const about = await send('gone')
      expect(await reportOf(about)).toMatchObject({ about, receipt: { status: 'failed' } })
      expect(failures).toBe(2)
      expect(postfix.log()).toContain('status=deferred')
    })
  },
)
