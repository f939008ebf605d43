import { once } from 'node:events'
import { createServer } from 'node:net'
import { createTransport } from 'nodemailer'
import { afterEach, describe, expect, it } from 'vitest'
import { messageToken } from '../../../src/contract/signing/mail-address-token.ts'
import { INTAKE_LIMITS, type IntakeLimits } from '../../../src/providers/smtp/intake.ts'
import { AWAY, feedbackReport, postfixReport } from './intake-mails.ts'
import {
  BOUNCE_DOMAIN,
  bounceAddress,
  createSink,
  newRef,
  openIntake,
  SECRET,
  talkTo,
} from './intake-stage.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function open(limits: Partial<IntakeLimits> = {}, more: { max_bytes?: number } = {}) {
  const sink = createSink()
  const intake = await openIntake(sink, { ...INTAKE_LIMITS, ...limits }, more)
  ends.push(() => intake.close(0))
  const talk = async () => {
    const talking = await talkTo(intake.port)
    ends.push(talking.end)
    return talking
  }
  return { sink, intake, talk }
}

/** A promise that resolves on `open`. */
function gate() {
  let open = () => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

const COMPLAINTS = `fbl@${BOUNCE_DOMAIN}`

describe('the mail intake', () => {
  it('receives a report on the message whose token is in the address, in any case', async () => {
    const { sink, intake, talk } = await open()
    const about = newRef()
    const { mail } = await talk()
    expect(await mail([bounceAddress(about).toUpperCase()], postfixReport())).toMatch(/^250 /)
    expect(sink.reports).toMatchObject([{ type: 'receipt', about, receipt: { status: 'failed' } }])
    expect(intake.states()).toEqual([
      {
        name: `127.0.0.1:${intake.port}`,
        state: 'up',
        detail: '1 reports taken, 0 mails dropped, 0 addresses refused',
      },
    ])
  })

  it('receives a bounce in the words of a server at the address of a message only', async () => {
    const { sink, intake, talk } = await open()
    const about = newRef()
    const { mail } = await talk()
    const raw =
      'From: MAILER-DAEMON@mx.example\r\nSubject: failure notice\r\n\r\nHi.\r\n\r\n<a@b.example>:\r\nNo such mailbox (#5.1.1)'
    await mail([COMPLAINTS], raw)
    expect(sink.reports).toEqual([])
    await mail([bounceAddress(about)], raw)
    expect(sink.reports).toMatchObject([
      { type: 'receipt', about, receipt: { status: 'failed', suppress: 'bounce' } },
    ])
    expect(intake.states()[0]?.detail).toContain('1 reports taken, 1 mails dropped')
  })

  it('receives several mails on one connection, and a complaint with an envelope sender', async () => {
    const { sink, talk } = await open()
    const [first, second] = [newRef(), newRef()]
    const { mail } = await talk()
    await mail([bounceAddress(first)], postfixReport({ action: 'delayed' }))
    await mail([bounceAddress(second)], feedbackReport(), 'fbl@mailbox.example')
    expect(sink.reports).toMatchObject([
      { about: first, receipt: { status: 'sent' } },
      { type: 'suppress', about: second, reason: 'complaint' },
    ])
  })

  it('relays nothing and refuses other addresses', async () => {
    const { sink, intake, talk } = await open({ unknown_addresses: 100 })
    const about = newRef()
    const own = bounceAddress(about)
    const { command } = await talk()
    await command('EHLO sender.example.test')
    await command('MAIL FROM:<>')
    const others = [
      'user@elsewhere.example',
      `user@${BOUNCE_DOMAIN}`,
      `postmaster@${BOUNCE_DOMAIN}`,
      `b+@${BOUNCE_DOMAIN}`,
      own.replace(BOUNCE_DOMAIN, 'elsewhere.example'),
      own.replace(BOUNCE_DOMAIN, `elsewhere.${BOUNCE_DOMAIN}`),
      own.replace('b+', ''),
      own.replace('b+', 'c+'),
      own.replace('@', '%elsewhere.example@'),
      `b+${about.message_id}@${BOUNCE_DOMAIN}`,
      `b+${messageToken('another secret', 'bounce', about)}@${BOUNCE_DOMAIN}`,
      `b+${messageToken(SECRET, 'unsubscribe', about)}@${BOUNCE_DOMAIN}`,
    ]
    for (const address of others) {
      expect(await command(`RCPT TO:<${address}>`), address).toMatch(/^550 /)
    }
    expect(await command('DATA')).toMatch(/^503 /)
    expect(await command('AUTH PLAIN AGEAYg==')).toMatch(/^500 /)
    expect(await command('STARTTLS')).toMatch(/^500 /)
    expect(sink.reports).toEqual([])
    expect(intake.states()[0]?.detail).toContain(`${others.length} addresses refused`)
  })

  it('offers only features that it has', async () => {
    const { talk } = await open({}, { max_bytes: 12_345 })
    const { command } = await talk()
    const features = await command('EHLO sender.example.test')
    expect(features).toContain('SIZE 12345')
    expect(features).not.toMatch(/AUTH|STARTTLS|DSN/)
  })

  it('acknowledges and drops mails without a usable report, and notes none of their text', async () => {
    const { sink, intake, talk } = await open()
    const about = newRef()
    const { mail } = await talk()
    const useless = [AWAY, '', '\0\xff', feedbackReport({ kind: 'not-spam' })]
    for (const raw of useless) expect(await mail([bounceAddress(about)], raw)).toMatch(/^250 /)
    expect(sink.reports).toEqual([])
    expect(sink.notes).toHaveLength(useless.length)
    expect(sink.notes[0]).toEqual({
      level: 'info',
      text: 'a mail without a usable report was dropped',
      fields: { kind: 'no report', message_ids: [about.message_id] },
    })
    expect(intake.states()[0]?.detail).toContain(`${useless.length} mails dropped`)
  })

  it('requests a retry from the sender if the store failed, and receives the retry', async () => {
    const { sink, talk } = await open()
    const to = [bounceAddress(newRef())]
    const { mail } = await talk()
    sink.before = () => Promise.reject(new Error('no room'))
    expect(await mail(to, postfixReport())).toMatch(/^451 /)
    expect(sink.notes).toMatchObject([{ level: 'error', text: 'a mail could not be stored' }])
    sink.before = async () => {}
    expect(await mail(to, postfixReport())).toMatch(/^250 /)
    expect(sink.reports).toHaveLength(1)
  })

  it('requests a retry from the sender if the store takes too long', async () => {
    const { sink, talk } = await open({ store_ms: 20 })
    const { passed, open: release } = gate()
    sink.before = () => passed
    const { mail } = await talk()
    expect(await mail([bounceAddress(newRef())], postfixReport())).toMatch(/^451 /)
    release()
  })

  it('acknowledges only after the store', async () => {
    const { sink, talk } = await open()
    const [begun, stored] = [gate(), gate()]
    sink.before = () => {
      begun.open()
      return stored.passed
    }
    const { mail } = await talk()
    let answered = false
    const answer = mail([bounceAddress(newRef())], postfixReport()).then((text) => {
      answered = true
      return text
    })
    await begun.passed
    // Another connection gets an answer, so an answer to this one would have arrived.
    const { command } = await talk()
    expect(await command('EHLO sender.example.test')).toMatch(/^250/)
    expect(answered).toBe(false)
    stored.open()
    expect(await answer).toMatch(/^250 /)
  })
})

describe('feedback reports to the address for complaints', () => {
  const proofs = {
    'the envelope sender that the report names': (about: ReturnType<typeof newRef>) => ({
      mail_from: bounceAddress(about),
    }),
    'the return path of the returned mail': (about: ReturnType<typeof newRef>) => ({
      returned: `Return-Path: <${bounceAddress(about)}>`,
    }),
    'the link to unsubscribe in that mail': (about: ReturnType<typeof newRef>) => ({
      returned: `List-Unsubscribe: <https://svc.example/unsubscribe/${messageToken(SECRET, 'unsubscribe', about)}>`,
    }),
  }

  it.each(Object.entries(proofs))('are proven by %s', async (_, proof) => {
    const { sink, talk } = await open()
    const about = newRef()
    const { mail } = await talk()
    expect(await mail([COMPLAINTS], feedbackReport(proof(about)))).toMatch(/^250 /)
    const addresses = ['user@example.com']
    expect(sink.reports).toEqual([{ type: 'suppress', about, reason: 'complaint', addresses }])
  })

  it('are dropped if they name an id without a token, or an invalid token', async () => {
    const { sink, talk } = await open()
    const about = newRef()
    const forged = messageToken('another secret', 'bounce', about)
    const { mail } = await talk()
    for (const returned of [`Message-ID: <${about.message_id}@example.test>`, `X: ${forged}`]) {
      expect(await mail([COMPLAINTS], feedbackReport({ returned }))).toMatch(/^250 /)
    }
    expect(await mail([COMPLAINTS], postfixReport({ envelope_id: about.message_id }))).toMatch(
      /^250 /,
    )
    expect(sink.reports).toEqual([])
  })

  it('may be a bounce with a token in its envelope id', async () => {
    const { sink, talk } = await open()
    const about = newRef()
    const envelope_id = messageToken(SECRET, 'bounce', about)
    const { mail } = await talk()
    await mail([COMPLAINTS], postfixReport({ envelope_id }))
    expect(sink.reports).toMatchObject([{ type: 'receipt', about }])
  })

  it('are about the token in the address, not about one inside', async () => {
    const { sink, talk } = await open()
    const [about, other] = [newRef(), newRef()]
    const { mail } = await talk()
    await mail([bounceAddress(about)], feedbackReport({ mail_from: bounceAddress(other) }))
    expect(sink.reports).toMatchObject([{ about }])
  })
})

describe('the limits of the mail intake', () => {
  it('refuse mails that are too large, declared or not', async () => {
    const { sink, talk } = await open({}, { max_bytes: 20_000 })
    const to = [bounceAddress(newRef())]
    const { command, mail } = await talk()
    await command('EHLO sender.example.test')
    expect(await command('MAIL FROM:<> SIZE=20001')).toMatch(/^552 /)
    expect(await mail(to, `${postfixReport()}${'x'.repeat(20_000)}`)).toMatch(/^552 /)
    expect(sink.reports).toEqual([])
    expect(await mail(to, postfixReport())).toMatch(/^250 /)
  })

  it('defer further recipients', async () => {
    const { talk } = await open({ recipients: 2 })
    const { command } = await talk()
    await command('EHLO sender.example.test')
    await command('MAIL FROM:<>')
    const answers: string[] = []
    for (let i = 0; i < 3; i += 1) {
      answers.push((await command(`RCPT TO:<${bounceAddress(newRef())}>`)).slice(0, 3))
    }
    expect(answers).toEqual(['250', '250', '452'])
  })

  it('end a connection that tries addresses', async () => {
    const { talk } = await open({ unknown_addresses: 3 })
    const { command, closed } = await talk()
    await command('EHLO sender.example.test')
    await command('MAIL FROM:<>')
    const answers: string[] = []
    for (let i = 0; i < 3; i += 1) {
      answers.push((await command(`RCPT TO:<user${i}@${BOUNCE_DOMAIN}>`)).slice(0, 3))
    }
    expect(answers).toEqual(['550', '550', '421'])
    await closed
  })

  it('defer further connections', async () => {
    const { intake, talk } = await open({ clients: 1 })
    await talk()
    const transport = createTransport({ host: '127.0.0.1', port: intake.port })
    await expect(transport.verify()).rejects.toMatchObject({ responseCode: 421 })
  })

  it('defer further connections of one address, and serve other addresses', async () => {
    const { intake, talk } = await open({ clients: 4, clients_of_site: 2 })
    const [first] = [await talk(), await talk()]
    const from = (localAddress: string) =>
      createTransport({ host: '127.0.0.1', port: intake.port, localAddress })
    for (let i = 0; i < 10; i++) {
      await expect(from('127.0.0.1').verify()).rejects.toMatchObject({ responseCode: 421 })
    }
    expect(await from('127.0.0.2').verify()).toBe(true)
    first?.end()
    await first?.closed
    expect(await from('127.0.0.1').verify()).toBe(true)
  })

  it('end silent connections and endless ones', async () => {
    const silent = await (await open({ silence_ms: 30 })).talk()
    await silent.closed
    const { talk } = await open({ connection_ms: 60 })
    const busy = await talk()
    while ((await busy.command('NOOP')) !== '');
    await busy.closed
  })

  it('do not count a mail whose sender disconnects in the middle of it', async () => {
    const { sink, intake, talk } = await open()
    const { command, write, end } = await talk()
    await command('EHLO sender.example.test')
    await command('MAIL FROM:<>')
    await command(`RCPT TO:<${bounceAddress(newRef())}>`)
    await command('DATA')
    write(postfixReport())
    end()
    const about = newRef()
    const { mail } = await talk()
    await mail([bounceAddress(about)], postfixReport())
    // No mail is in progress, or this would take a minute.
    await intake.close(60_000)
    expect(sink.reports).toMatchObject([{ about }])
  })

  it('allow noise: it is answered, or the connection ends', async () => {
    const { sink, talk } = await open()
    for (const noise of ['GET / HTTP/1.1', '\0'.repeat(100), 'x'.repeat(100_000), '\xff\xfe']) {
      const { command } = await talk()
      expect(await command(noise)).toMatch(/^(?:421|50\d) |^$/)
    }
    const { mail } = await talk()
    expect(await mail([bounceAddress(newRef())], postfixReport())).toMatch(/^250 /)
    expect(sink.reports).toHaveLength(1)
  })
})

describe('closing the mail intake', () => {
  it('waits for reports that are being stored, and ends all other connections at once', async () => {
    const { sink, intake, talk } = await open()
    const [begun, stored] = [gate(), gate()]
    sink.before = () => {
      begun.open()
      return stored.passed
    }
    const idle = await talk()
    const busy = await talk()
    const answer = busy.mail([bounceAddress(newRef())], postfixReport())
    await begun.passed
    const closed = intake.close(60_000)
    expect(await idle.answer()).toMatch(/^421 /)
    await idle.closed
    expect(intake.states()).toMatchObject([{ state: 'down' }])
    stored.open()
    expect(await answer).toMatch(/^250 /)
    await closed
    await busy.closed
    expect(sink.reports).toHaveLength(1)
  })

  it('waits at most the grace period', async () => {
    const { sink, intake, talk } = await open()
    const [begun, stored] = [gate(), gate()]
    sink.before = () => {
      begun.open()
      return stored.passed
    }
    const { mail, closed } = await talk()
    const answer = mail([bounceAddress(newRef())], postfixReport())
    await begun.passed
    await intake.close(20)
    expect(await answer).not.toMatch(/^250/)
    await closed
    stored.open()
  })

  it('frees the port', async () => {
    const { intake } = await open()
    await intake.close(1_000)
    await intake.close(1_000)
    const server = createServer().listen(intake.port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })
})

describe('opening the mail intake', () => {
  it('fails on a used port', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    ends.push(() => server.close())
    const { listenForMail } = await import('../../../src/providers/smtp/intake.ts')
    const { port } = server.address() as { port: number }
    await expect(
      listenForMail({
        intake: { host: '127.0.0.1', port },
        bounce_domain: BOUNCE_DOMAIN,
        secret: SECRET,
        sink: createSink(),
      }),
    ).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})
